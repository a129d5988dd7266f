// chokepoint probe collective: what collectives between ranks carry, over the library that training
// uses. One process per rank, started by a launcher or by this command itself; one of them leads
// and prints, all others are silent unless they fail. The library runs in a thread of its own
// (collective::RankThread).
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/text.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "probe/collective/communicator.h"
#include "probe/collective/launch/leader.h"
#include "probe/collective/launch/placement.h"
#include "probe/collective/launch/rank_thread.h"
#include "probe/commands/collective_flags.h"
#include "probe/commands/collective_page.h"
#include "probe/commands/kinds.h"

namespace chokepoint::probe {
namespace {

using collective::CoordinatorResult;
using collective::Job;
using collective::leader_vanished;
using collective::MemberOptions;
using collective::Plan;
using collective::RankEnd;
using collective::RankThread;
using collective::StartedRanks;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kCheckInterval{100};
// Time for a library to end after it was asked to.
constexpr seconds kLibraryEndTime{5};
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

class ProbeCollectiveCommand final : public cli::Command {
 public:
  explicit ProbeCollectiveCommand(std::vector<collective::Backend> backends)
      : backends_(std::move(backends)) {}

  cli::Summary summary() const override {
    return {
        .name = "probe collective",
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
            {"chokepoint probe collective --hosts hubble,voyager --key-file KEY --parameters 708M "
             "--type bf16",
             "the gradients of a model with 708 million parameters, between two hosts"},
            {"chokepoint probe collective --local 2 --bytes 8..512M --json > curve.json",
             "many sizes on this host, for 'chokepoint predict --curve'"}}};
  }

  void define(cli::Flags& flags) override {
    probe::define(flags, flags_);
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    document_ = cli::document(context, Fields<documents::Collective>::kSchema);
    const std::vector<std::string> hosts = hosts_of(flags_);
    if (flags_.local > 0 && !hosts.empty()) {
      return fail(ErrorKind::Usage, "", "--local", "--hosts already determines where the ranks are",
                  "give only one of them");
    }
    if (flags_.local > 0 || !hosts.empty()) {
      return start_and_lead(hosts, signals.descriptor(), context);
    }
    TRY(const std::optional<RankPlacement> placement,
        collective::find_placement(context.environment, sys::host_name(context.root)));
    if (!placement) {
      return fail(ErrorKind::Usage, "", "", "the rank of this process is not known",
                  "start it with torchrun, mpirun or srun, or give --local N or --hosts HOST,HOST");
    }
    return run_as_rank(*placement, signals.descriptor(), context);
  }

 private:
  using Leader = collective::Leader;
  using RankPlacement = collective::RankPlacement;

  Result<cli::ExitCode> start_and_lead(const std::vector<std::string>& hosts, int interrupt,
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
    TRY(std::unique_ptr<StartedRanks> started,
        hosts.empty() ? start_local_ranks(wanted, context.clock)
                      : start_remote_ranks(wanted, servers_there, interrupt, waiting));
    leader->supervise(std::move(started));
    return show(measured_of(leader->lead(plan), plan, ranks, "chokepoint"), context);
  }

  Result<cli::ExitCode> run_as_rank(const RankPlacement& placement, int interrupt,
                                    const cli::Context& context) const {
    TRY(const Plan plan, plan_of(flags_, placement.position.ranks));
    TRY(const Job job, job_of(flags_, backends_, placement, context));
    TRY(MemberOptions member, member_options(flags_, placement, interrupt, context));
    if (!placement.leads()) {
      RankThread rank(job, member);
      const Result<cli::ExitCode> followed = follow(placement, rank, interrupt);
      if (!rank.wait_for({})) {
        leave(followed, context);
      }
      return followed;
    }
    collective::LeaderOptions leading =
        leader_options(flags_, placement.position.ranks, interrupt, context);
    leading.job = placement.job;
    leading.meeting.key = member.key;
    leading.meeting.first_port = placement.meeting.port;
    TRY(const std::unique_ptr<Leader> leader, Leader::open(leading, context.clock));
    member.meeting = {"127.0.0.1", leader->port()};
    member.ports = 1;
    RankThread rank(job, member);
    return lead_as_rank_0(placement, rank, *leader, plan, context);
  }

  Result<cli::ExitCode> lead_as_rank_0(const RankPlacement& placement, collective::RankThread& rank,
                                       Leader& leader, const collective::Plan& plan,
                                       const cli::Context& context) const {
    const CollectiveMeasured measured =
        measured_of(leader.lead(plan), plan, placement.position.ranks, placement.launcher);
    const Result<cli::ExitCode> shown = show(measured, context);
    if (!rank.wait_for(kLibraryEndTime)) {
      leave(shown, context);
    }
    return shown;
  }

  Result<cli::ExitCode> follow(const RankPlacement& placement, collective::RankThread& rank,
                               int interrupt) const {
    std::optional<RankEnd> end;
    while (!(end = rank.wait_for(kCheckInterval))) {
      if ((rank.is_over() || sys::is_readable(interrupt)) && !rank.wait_for(kLibraryEndTime)) {
        if (sys::is_readable(interrupt)) {
          return cli::ExitCode::Interrupted;
        }
        const bool is_reported = placement.launcher == "chokepoint" || rank.has_reason();
        return is_reported ? Result<cli::ExitCode>(cli::ExitCode::Failed) : fail(leader_vanished());
      }
    }
    if (!end->error) {
      return cli::ExitCode::Done;
    }
    if (sys::is_readable(interrupt)) {
      return cli::ExitCode::Interrupted;
    }
    // The leader reports it, once.
    if (end->is_reported || (placement.launcher == "chokepoint" && rank.has_met())) {
      return cli::ExitCode::Failed;
    }
    return std::unexpected(*end->error);
  }

  CollectiveMeasured measured_of(collective::CoordinatorResult led, const collective::Plan& plan,
                                 int ranks, std::string launcher) const {
    documents::Collective document = document_of(plan, led.outcome);
    document.backend = flags_.backend;
    document.ranks = ranks;
    document.launcher = std::move(launcher);
    document.interrupted = led.interrupted;
    if (led.failure) {
      document.failure = describe(*led.failure);
    }
    std::optional<double> best;
    for (const documents::CollectiveSize& size : document.sizes) {
      best = std::max(best, size.busbw_mbps);
    }
    if (flags_.min_busbw > 0 && best.value_or(0) < flags_.min_busbw) {
      document.missed.push_back(fmt::format("bus bandwidth of {:.2f} Mb/s at best, wanted {:.2f}",
                                            best.value_or(0), flags_.min_busbw));
    }
    CollectiveMeasured measured{.document = std::move(document),
                                .hosts = std::move(led.outcome.hosts),
                                .failure = std::move(led.failure)};
    for (const documents::DataPath& data_path : led.outcome.data_paths) {
      if (!data_path.better.empty()) {
        measured.advice.insert(data_path.better);
      }
    }
    return measured;
  }

  Result<cli::ExitCode> show(const CollectiveMeasured& measured,
                             const cli::Context& context) const {
    const documents::Collective& found = measured.document;
    if (measured.failure && found.sizes.empty()) {
      return fail(*measured.failure);
    }
    cli::Json document = document_;
    document.update(json::to_json(found));
    for (const auto& [host, settings] : measured.hosts) {
      if (host != sys::host_name(context.root)) {
        document[baseline::kHostFacts]["peers"][host] = settings;
      }
    }
    TRY(const cli::ExitCode code,
        baseline::answer(
            context, baseline_,
            {.kind = "collective", .direction = found.collective, .document = std::move(document)},
            found.interrupted, [&] { print_page(context, measured); }));
    if (measured.failure) {
      return fail(*measured.failure);
    }
    if (std::ranges::any_of(found.sizes, [](const auto& size) { return size.wrong.has_value(); })) {
      return fail(ErrorKind::Io, "check", found.backend, "the received data were wrong",
                  "try another transport or algorithm; 'wrong' in the document shows where");
    }
    return code == cli::ExitCode::Done && !found.missed.empty() ? cli::ExitCode::Found : code;
  }

  std::vector<collective::Backend> backends_;
  CollectiveFlags flags_;
  baseline::Flags baseline_;
  cli::Json document_;
};

}  // namespace

cli::CommandFactory collective_command(std::vector<collective::Backend> backends) {
  return cli::command<ProbeCollectiveCommand>(std::move(backends));
}

}  // namespace chokepoint::probe
