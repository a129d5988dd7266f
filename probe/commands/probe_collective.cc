// chokepoint probe collective: what collectives between ranks carry, over the library that training
// uses. One process per rank, started by a launcher or by this command itself; one of them leads
// and prints, all others are silent unless they fail. The library runs in a thread of its own
// (collective::RankThread).
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/cli/text.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "probe/collective/communicator.h"
#include "probe/collective/launch/leader.h"
#include "probe/collective/launch/placement.h"
#include "probe/collective/launch/rank_thread.h"
#include "probe/commands/collective_run.h"
#include "probe/commands/commands.h"

namespace chokepoint::probe {
namespace {

class ProbeCollectiveCommand final : public cli::Command {
 public:
  explicit ProbeCollectiveCommand(std::vector<collective::Backend> backends)
      : backends_(std::move(backends)) {}

  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  using Leader = collective::Leader;
  using RankPlacement = collective::RankPlacement;

  Result<cli::ExitCode> start_and_lead(const std::vector<std::string>& hosts, int interrupt,
                                       const cli::Context& context) const;
  Result<cli::ExitCode> take_seat(const RankPlacement& seat, int interrupt,
                                  const cli::Context& context) const;
  Result<cli::ExitCode> lead_as_rank_0(const RankPlacement& seat, collective::RankThread& rank,
                                       Leader& leader, const collective::Plan& plan,
                                       const cli::Context& context) const;
  Result<cli::ExitCode> follow(const RankPlacement& seat, collective::RankThread& rank,
                               int interrupt) const;

  CollectiveMeasured measured_of(collective::Led led, const collective::Plan& plan, int ranks,
                                 std::string launcher) const;
  Result<cli::ExitCode> show(const CollectiveMeasured& measured, const cli::Context& context) const;

  std::vector<collective::Backend> backends_;
  CollectiveFlags flags_;
  baseline::Flags baseline_;
  cli::Json document_;
};

using collective::Job;
using collective::leader_vanished;
using collective::Led;
using collective::MemberOptions;
using collective::Plan;
using collective::RankThread;
using collective::Started;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLook{100};
// Time for a library to end after it was asked to.
constexpr seconds kGrace{5};
constexpr std::size_t kJobDigits = 16;

// Ends the process: the thread of a library that hangs cannot be ended otherwise.
[[noreturn]] void leave(const Result<cli::ExitCode>& result, const cli::Context& context) {
  if (!result) {
    fmt::print(context.err, "chokepoint: probe collective: {}\n",
               cli::printable(describe(result.error())));
  }
  context.out << std::flush;
  context.err << std::flush;
  _exit(static_cast<int>(result.value_or(cli::ExitCode::Failed)));
}

cli::Summary ProbeCollectiveCommand::summary() const {
  return {.name = "probe collective",
          .purpose = "measures all-reduce and other collectives between ranks, by Gloo or NCCL",
          .description =
              "Runs a collective with the library that training uses, for each size, and reports "
              "its time, its bandwidth, whether the data were correct, and which path they took. "
              "An iteration's time is that of the slowest rank.\n\n"
              "There is one process for each rank: start them with torchrun, mpirun or srun like a "
              "training, or let this command start them, with --local on this host or with --hosts "
              "by 'chokepoint serve' on other hosts. One of them prints.",
          .examples = {
              {"torchrun --no_python --nproc_per_node 4 chokepoint probe collective",
               "all-reduce among four ranks, 4 KiB to 64 MiB"},
              {"chokepoint probe collective --hosts hubble,voyager --parameters 708M --type bf16",
               "the gradients of a model with 708 million parameters, between two hosts"},
              {"chokepoint probe collective --local 2 --bytes 8..512M --json > curve.json",
               "many sizes on this host, for 'chokepoint predict --curve'"}}};
}

void ProbeCollectiveCommand::define(cli::Flags& flags) {
  probe::define(flags, flags_);
  baseline::define(flags, baseline_);
}

Result<cli::ExitCode> ProbeCollectiveCommand::run(cli::Context& context) {
  TRY(const sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM}));
  document_ = cli::document(context, "chokepoint.collective/1");
  const std::vector<std::string> hosts = hosts_of(flags_);
  if (flags_.local > 0 && !hosts.empty()) {
    return fail(ErrorKind::Usage, "", "--local", "--hosts already determines where the ranks are",
                "give only one of them");
  }
  if (flags_.local > 0 || !hosts.empty()) {
    return start_and_lead(hosts, signals.descriptor(), context);
  }
  TRY(const std::optional<RankPlacement> seat,
      collective::find_placement(context.environment, sys::host_name(context.root)));
  if (!seat) {
    return fail(ErrorKind::Usage, "", "", "the rank of this process is not known",
                "start it with torchrun, mpirun or srun, or give --local N or --hosts HOST,HOST");
  }
  return take_seat(*seat, signals.descriptor(), context);
}

Result<cli::ExitCode> ProbeCollectiveCommand::start_and_lead(const std::vector<std::string>& hosts,
                                                             int interrupt,
                                                             const cli::Context& context) const {
  const auto each = static_cast<int>(hosts.empty() ? flags_.local : flags_.ranks_per_host);
  const int ranks = hosts.empty() ? each : each * static_cast<int>(hosts.size());
  TRY(const Plan plan, plan_of(flags_, ranks));
  TRY(const collective::RankOptions options, rank_options_of(flags_));
  TRY(const auto servers_there, server_options(flags_, hosts, context));
  collective::RanksWanted wanted{.options = options,
                                 .job = control::random_id().substr(0, kJobDigits),
                                 .secret = control::random_secret(),
                                 .ranks = ranks,
                                 .count = each};
  collective::LeaderOptions leading = leader_options(flags_, ranks, interrupt, context);
  leading.job = wanted.job;
  leading.meeting.key = wanted.secret;
  leading.meeting.loopback = hosts.empty();
  TRY(const std::unique_ptr<Leader> leader, Leader::open(leading, context.clock));
  wanted.port = leader->port();
  const control::Waiting waiting = [&](const std::string& why) {
    fmt::print(context.err, "waiting: {}\n", cli::printable(why));
  };
  TRY(std::unique_ptr<Started> started,
      hosts.empty() ? start_here(wanted, context.clock)
                    : start_there(wanted, servers_there, interrupt, waiting));
  leader->look_after(std::move(started));
  return show(measured_of(leader->lead(plan), plan, ranks, "chokepoint"), context);
}

Result<cli::ExitCode> ProbeCollectiveCommand::take_seat(const RankPlacement& seat, int interrupt,
                                                        const cli::Context& context) const {
  TRY(const Plan plan, plan_of(flags_, seat.place.ranks));
  TRY(const Job job, job_of(flags_, backends_, seat, context));
  TRY(MemberOptions member, member_options(flags_, seat, interrupt, context));
  if (!seat.leads()) {
    RankThread rank(job, member);
    const Result<cli::ExitCode> followed = follow(seat, rank, interrupt);
    if (!rank.wait_for({})) {
      leave(followed, context);
    }
    return followed;
  }
  collective::LeaderOptions leading = leader_options(flags_, seat.place.ranks, interrupt, context);
  leading.job = seat.job;
  leading.meeting.key = member.key;
  leading.meeting.first_port = seat.meeting.port;
  TRY(const std::unique_ptr<Leader> leader, Leader::open(leading, context.clock));
  member.meeting = {"127.0.0.1", leader->port()};
  member.ports = 1;
  RankThread rank(job, member);
  return lead_as_rank_0(seat, rank, *leader, plan, context);
}

Result<cli::ExitCode> ProbeCollectiveCommand::lead_as_rank_0(const RankPlacement& seat,
                                                             RankThread& rank, Leader& leader,
                                                             const Plan& plan,
                                                             const cli::Context& context) const {
  const CollectiveMeasured measured =
      measured_of(leader.lead(plan), plan, seat.place.ranks, seat.launcher);
  const Result<cli::ExitCode> shown = show(measured, context);
  if (!rank.wait_for(kGrace)) {
    leave(shown, context);
  }
  return shown;
}

Result<cli::ExitCode> ProbeCollectiveCommand::follow(const RankPlacement& seat, RankThread& rank,
                                                     int interrupt) const {
  while (!rank.wait_for(kLook)) {
    if ((rank.is_over() || sys::is_readable(interrupt)) && !rank.wait_for(kGrace)) {
      if (sys::is_readable(interrupt)) {
        return cli::ExitCode::Interrupted;
      }
      const bool is_reported = seat.launcher == "chokepoint" || rank.has_heard_why();
      return is_reported ? Result<cli::ExitCode>(cli::ExitCode::Failed) : fail(leader_vanished());
    }
  }
  const std::optional<Error> error = rank.error();
  if (!error) {
    return cli::ExitCode::Done;
  }
  if (sys::is_readable(interrupt)) {
    return cli::ExitCode::Interrupted;
  }
  // The leader reports it, once.
  if (rank.is_known() || (seat.launcher == "chokepoint" && rank.has_met())) {
    return cli::ExitCode::Failed;
  }
  return std::unexpected(*error);
}

CollectiveMeasured ProbeCollectiveCommand::measured_of(Led led, const Plan& plan, int ranks,
                                                       std::string launcher) const {
  CollectiveMeasured measured{.backend = flags_.backend,
                              .launcher = std::move(launcher),
                              .plan = plan,
                              .ranks = ranks,
                              .outcome = std::move(led.outcome),
                              .interrupted = led.interrupted,
                              .failure = std::move(led.failure)};
  const double best = best_busbw_mbps(measured.outcome).value_or(0);
  if (flags_.min_busbw > 0 && best < flags_.min_busbw) {
    measured.missed.push_back(
        fmt::format("bus bandwidth of {:.2f} Mb/s at best, wanted {:.2f}", best, flags_.min_busbw));
  }
  return measured;
}

Result<cli::ExitCode> ProbeCollectiveCommand::show(const CollectiveMeasured& measured,
                                                   const cli::Context& context) const {
  if (measured.failure && measured.outcome.sizes.empty()) {
    return fail(*measured.failure);
  }
  cli::Json document = document_;
  add_to(document, measured);
  if (context.json) {
    cli::print(context, document);
  } else {
    print_page(context, measured);
  }
  const baseline::Finding finding{.kind = "collective",
                                  .peer = {},
                                  .direction = std::string(name_of(measured.plan.collective)),
                                  .document = std::move(document)};
  TRY(baseline::keep(baseline_, finding, context));
  if (measured.failure) {
    return fail(*measured.failure);
  }
  if (is_wrong(measured.outcome)) {
    return fail(ErrorKind::Io, "check", measured.backend, "the received data were wrong",
                "try another transport or algorithm; 'wrong' in the document shows where");
  }
  if (measured.interrupted) {
    return cli::ExitCode::Interrupted;
  }
  return measured.missed.empty() ? cli::ExitCode::Done : cli::ExitCode::Found;
}

}  // namespace

cli::CommandFactory collective_command(std::vector<collective::Backend> backends) {
  return cli::command<ProbeCollectiveCommand>(std::move(backends));
}

}  // namespace chokepoint::probe
