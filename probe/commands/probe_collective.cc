#include "probe/commands/probe_collective.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/cli/utf8.h"
#include "base/host/memory_room.h"
#include "base/sys/host_name.h"
#include "base/sys/signals.h"

namespace chokepoint::probe {
namespace {

using collective::Job;
using collective::Led;
using collective::MemberOptions;
using collective::Plan;
using collective::RankThread;
using collective::Started;
using collective::without_a_word;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLook{100};
// What a library that is told to end may take for it.
constexpr seconds kGrace{5};
constexpr std::size_t kJobDigits = 16;

control::Identity identity(const cli::Context& context) {
  return {.program = "chokepoint " + context.version, .host = sys::host_name(context.root)};
}

bool is_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

// A rank whose library hangs cannot be ended but with its process.
[[noreturn]] void leave(const Result<cli::ExitCode>& result, const cli::Context& context) {
  if (!result) {
    fmt::print(context.err, "chokepoint: probe collective: {}\n",
               cli::printable(describe(result.error())));
  }
  context.out << std::flush;
  context.err << std::flush;
  _exit(static_cast<int>(result.value_or(cli::ExitCode::Failed)));
}

// Of what this host has left, this rank's part; the system keeps some.
std::uint64_t memory_for(int local_ranks, const cli::Context& context) {
  const std::optional<std::int64_t> available = host::memory_room(context.root);
  return available
             ? static_cast<std::uint64_t>(*available) / 10 * 9 / static_cast<unsigned>(local_ranks)
             : 0;
}

void tell(const cli::Context& context, const collective::SizeResult& size) {
  if (context.err_terminal.interactive && !context.quiet) {
    const auto rate = busbw_mbps(size);
    fmt::print(context.err, "{:>10}  {}\n",
               math::format_bytes(static_cast<double>(size.operation.bytes)),
               rate ? math::format_rate(*rate * 1e6) : "-");
    context.err << std::flush;
  }
}

}  // namespace

cli::Summary ProbeCollectiveCommand::summary() const {
  return {
      .name = "probe collective",
      .purpose = "what do all-reduce and its like carry between ranks, by Gloo or NCCL?",
      .description =
          "Runs a collective over the library that training uses, size by size, and tells how long "
          "it took, which bandwidth that is, whether the data were right, and which way they went. "
          "An iteration's time is that of the slowest rank.\n\n"
          "There is one process for each rank: start them with torchrun, mpirun or srun, as a "
          "training would be, or let this command start them, with --local on this host or with "
          "--hosts by the 'chokepoint serve' of others. One of them prints.",
      .examples = {
          {"torchrun --no_python --nproc_per_node 4 chokepoint probe collective",
           "all-reduce among four ranks, 4 KiB to 64 MiB"},
          {"chokepoint probe collective --hosts hubble,voyager --parameters 708M --type bf16",
           "the gradients of a model with 708 million parameters, between two hosts"},
          {"chokepoint probe collective --local 2 --bytes 8..512M --json > curve.json",
           "many sizes on this host, for 'chokepoint predict --curve'"}}};
}

void ProbeCollectiveCommand::define(cli::Flags& flags) {
  probe::define(flags, told_);
  baseline::define(flags, baseline_);
}

Result<const collective::Backend*> ProbeCollectiveCommand::backend() const {
  const auto found = std::ranges::find(backends_, told_.backend, &collective::Backend::name);
  if (found == backends_.end()) {
    return fail(ErrorKind::Unsupported, "", told_.backend, "this build does not have it",
                "see 'chokepoint doctor' for what it was built with");
  }
  return &*found;
}

Result<Job> ProbeCollectiveCommand::job_of(const Seat& seat, const cli::Context& context) const {
  const Result<const collective::Backend*> library = backend();
  const Result<collective::RankOptions> options = rank_options_of(told_);
  if (!library || !options) {
    return std::unexpected(library ? options.error() : library.error());
  }
  return Job{.place = seat.place,
             .open = (*library)->open,
             .options = {.interface = options->interface,
                         .timeout = options->timeout,
                         .gpu = options->gpu,
                         .algorithm = options->algorithm},
             .memory_bytes = memory_for(seat.local_ranks, context)};
}

Result<MemberOptions> ProbeCollectiveCommand::member_of(const Seat& seat, int interrupt,
                                                        const cli::Context& context) const {
  MemberOptions options{.meeting = seat.meeting,
                        .ports = seat.ports,
                        .key = seat.secret,
                        .who = {.job = seat.job,
                                .rank = seat.place.rank,
                                .ranks = seat.place.ranks,
                                .host = seat.place.host,
                                .program = identity(context).program},
                        .timeout = std::chrono::ceil<seconds>(told_.timeout),
                        .interrupt = interrupt};
  if (!seat.secret && !told_.key_file.empty()) {
    const Result<control::Secret> key = control::read_key(told_.key_file);
    if (!key) {
      return std::unexpected(key.error());
    }
    options.key = *key;
  }
  return options;
}

Result<std::vector<control::ClientOptions>> ProbeCollectiveCommand::servers(
    const std::vector<std::string>& hosts, const cli::Context& context) const {
  control::ClientOptions common;
  common.own = identity(context);
  if (!told_.key_file.empty()) {
    const Result<control::Secret> key = control::read_key(told_.key_file);
    if (!key) {
      return std::unexpected(key.error());
    }
    common.key = *key;
  }
  std::vector<control::ClientOptions> servers;
  for (const std::string& text : hosts) {
    const Result<net::HostPort> host =
        net::parse_host_port(text, static_cast<std::uint16_t>(told_.port));
    if (!host) {
      return std::unexpected(host.error());
    }
    servers.push_back(common);
    servers.back().peer = *host;
  }
  return servers;
}

collective::LeaderOptions ProbeCollectiveCommand::leader_options(
    int ranks, int interrupt, const cli::Context& context) const {
  return {.job = {},
          .ranks = ranks,
          .meeting = {.own = identity(context)},
          .timeout = std::chrono::ceil<seconds>(told_.timeout),
          .interrupt = interrupt,
          .on_size = [&context](const collective::SizeResult& size) { tell(context, size); }};
}

Result<cli::ExitCode> ProbeCollectiveCommand::run(cli::Context& context) {
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  document_ = cli::document(context, "chokepoint.collective/1");
  const std::vector<std::string> hosts = hosts_of(told_);
  if (told_.local > 0 && !hosts.empty()) {
    return fail(ErrorKind::Usage, "", "--local", "--hosts says already where the ranks are",
                "give only one of them");
  }
  if (told_.local > 0 || !hosts.empty()) {
    return start_and_lead(hosts, signals->descriptor(), context);
  }
  const Result<std::optional<Seat>> seat =
      collective::find_seat(context.environment, sys::host_name(context.root));
  if (!seat) {
    return std::unexpected(seat.error());
  }
  if (!*seat) {
    return fail(ErrorKind::Usage, "", "", "nobody has said which rank this is",
                "start it with torchrun, mpirun or srun, or give --local N or --hosts HOST,HOST");
  }
  return take_seat(**seat, signals->descriptor(), context);
}

Result<cli::ExitCode> ProbeCollectiveCommand::start_and_lead(const std::vector<std::string>& hosts,
                                                             int interrupt,
                                                             const cli::Context& context) const {
  const auto each = static_cast<int>(hosts.empty() ? told_.local : told_.ranks_per_host);
  const int ranks = hosts.empty() ? each : each * static_cast<int>(hosts.size());
  const Result<Plan> plan = plan_of(told_, ranks);
  const Result<collective::RankOptions> options = rank_options_of(told_);
  if (!plan || !options) {
    return std::unexpected(plan ? options.error() : plan.error());
  }
  const auto servers_there = servers(hosts, context);
  if (!servers_there) {
    return std::unexpected(servers_there.error());
  }
  collective::RanksWanted wanted{.options = *options,
                                 .job = control::random_id().substr(0, kJobDigits),
                                 .secret = control::random_secret(),
                                 .ranks = ranks,
                                 .count = each};
  collective::LeaderOptions leading = leader_options(ranks, interrupt, context);
  leading.job = wanted.job;
  leading.meeting.key = wanted.secret;
  leading.meeting.loopback = hosts.empty();
  const Result<std::unique_ptr<Leader>> leader = Leader::open(leading, context.clock);
  if (!leader) {
    return std::unexpected(leader.error());
  }
  wanted.port = (*leader)->port();
  const control::Waiting waiting = [&](const std::string& why) {
    fmt::print(context.err, "waiting: {}\n", cli::printable(why));
  };
  Result<std::unique_ptr<Started>> started =
      hosts.empty() ? start_here(wanted, context.clock)
                    : start_there(wanted, *servers_there, interrupt, waiting);
  if (!started) {
    return std::unexpected(started.error());
  }
  (*leader)->look_after(std::move(*started));
  return show(measured_of((*leader)->lead(*plan), *plan, ranks, "chokepoint"), context);
}

Result<cli::ExitCode> ProbeCollectiveCommand::take_seat(const Seat& seat, int interrupt,
                                                        const cli::Context& context) const {
  const Result<Plan> plan = plan_of(told_, seat.place.ranks);
  const Result<Job> job = job_of(seat, context);
  Result<MemberOptions> member = member_of(seat, interrupt, context);
  if (!plan || !job || !member) {
    return std::unexpected(!plan ? plan.error() : !job ? job.error() : member.error());
  }
  if (!seat.leads()) {
    RankThread rank(*job, *member);
    const Result<cli::ExitCode> followed = follow(seat, rank, interrupt);
    if (!rank.wait_for({})) {
      leave(followed, context);
    }
    return followed;
  }
  collective::LeaderOptions leading = leader_options(seat.place.ranks, interrupt, context);
  leading.job = seat.job;
  leading.meeting.key = member->key;
  leading.meeting.first_port = seat.meeting.port;
  const Result<std::unique_ptr<Leader>> leader = Leader::open(leading, context.clock);
  if (!leader) {
    return std::unexpected(leader.error());
  }
  member->meeting = {"127.0.0.1", (*leader)->port()};
  member->ports = 1;
  RankThread rank(*job, *member);
  return lead_as_rank_0(seat, rank, **leader, *plan, context);
}

Result<cli::ExitCode> ProbeCollectiveCommand::lead_as_rank_0(const Seat& seat, RankThread& rank,
                                                             Leader& leader, const Plan& plan,
                                                             const cli::Context& context) const {
  const CollectiveMeasured measured =
      measured_of(leader.lead(plan), plan, seat.place.ranks, seat.launcher);
  const Result<cli::ExitCode> shown = show(measured, context);
  if (!rank.wait_for(kGrace)) {
    leave(shown, context);
  }
  return shown;
}

Result<cli::ExitCode> ProbeCollectiveCommand::follow(const Seat& seat, RankThread& rank,
                                                     int interrupt) const {
  while (!rank.wait_for(kLook)) {
    if ((rank.is_over() || is_readable(interrupt)) && !rank.wait_for(kGrace)) {
      if (is_readable(interrupt)) {
        return cli::ExitCode::Interrupted;
      }
      const bool is_told = seat.launcher == "chokepoint" || rank.has_heard_why();
      return is_told ? Result<cli::ExitCode>(cli::ExitCode::Failed) : fail(without_a_word());
    }
  }
  const std::optional<Error> error = rank.error();
  if (!error) {
    return cli::ExitCode::Done;
  }
  if (is_readable(interrupt)) {
    return cli::ExitCode::Interrupted;
  }
  // Who leads tells of it, once.
  if (rank.is_known() || (seat.launcher == "chokepoint" && rank.has_met())) {
    return cli::ExitCode::Failed;
  }
  return std::unexpected(*error);
}

CollectiveMeasured ProbeCollectiveCommand::measured_of(Led led, const Plan& plan, int ranks,
                                                       std::string launcher) const {
  CollectiveMeasured measured{.backend = told_.backend,
                              .launcher = std::move(launcher),
                              .plan = plan,
                              .ranks = ranks,
                              .outcome = std::move(led.outcome),
                              .interrupted = led.interrupted,
                              .failure = std::move(led.failure)};
  const double best = best_busbw_mbps(measured.outcome).value_or(0);
  if (told_.min_busbw > 0 && best < told_.min_busbw) {
    measured.missed.push_back(
        fmt::format("bus bandwidth of {:.2f} Mb/s at best, wanted {:.2f}", best, told_.min_busbw));
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
  if (const Result<> kept = baseline::keep(baseline_, finding, context); !kept) {
    return std::unexpected(kept.error());
  }
  if (measured.failure) {
    return fail(*measured.failure);
  }
  if (is_wrong(measured.outcome)) {
    return fail(ErrorKind::Io, "check", measured.backend, "the data were not what they should be",
                "try another transport or algorithm; 'wrong' tells where");
  }
  if (measured.interrupted) {
    return cli::ExitCode::Interrupted;
  }
  return measured.missed.empty() ? cli::ExitCode::Done : cli::ExitCode::Found;
}

}  // namespace chokepoint::probe
