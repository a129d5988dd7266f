#include "preflight/commands/preflight.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/cli/output.h"
#include "base/cli/progress.h"
#include "base/cli/utf8.h"
#include "base/control/key.h"
#include "base/math/units.h"
#include "base/sys/host_name.h"
#include "base/sys/signals.h"
#include "preflight/agents/crew.h"
#include "preflight/commands/launched_agents.h"
#include "preflight/commands/names_here.h"
#include "preflight/judge/groups.h"
#include "preflight/judge/judge.h"
#include "preflight/judge/suspects.h"
#include "preflight/report/document.h"
#include "preflight/report/drain_list.h"
#include "preflight/report/page.h"
#include "preflight/report/reading.h"

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLaunchTime{60};  // to reach a host, copy what is missing, and start it
constexpr seconds kArrival{75};     // beyond the longest that calls may take by themselves
constexpr std::uint64_t kSteps = 1000;

milliseconds in_ms(std::chrono::nanoseconds time) { return std::chrono::ceil<milliseconds>(time); }

Launcher launcher_named(const std::string& name) {
  return name == "ssh"      ? Launcher::Ssh
         : name == "slurm"  ? Launcher::Slurm
         : name == "mpirun" ? Launcher::Mpirun
                            : Launcher::None;
}

Result<Measured> measured_in_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open() || file.bad()) {
    return fail(ErrorKind::Usage, "", "--baseline " + path, "cannot be read",
                "give what 'chokepoint preflight --keep FILE' wrote");
  }
  return measured_in_text(text.str());
}

Result<> write_file(const std::string& file, const std::string& content) {
  const Result<std::unique_ptr<cli::Output>> output = cli::open_file(file);
  if (!output) {
    return fail(output.error());
  }
  (*output)->write(content);
  return (*output)->finish();
}

lead::Advisers advisers(const Limits& limits, std::size_t most) {
  return {.suspects = [&limits,
                       most](const Measured& measured) { return suspects(measured, limits, most); },
          .cuts =
              [&limits](const Measured& measured) {
                std::vector<plan::Cut> cuts;
                if (const auto groups = find_groups(measured, limits)) {
                  cuts.push_back({.left = groups->first, .right = groups->second});
                }
                return cuts;
              }};
}

std::size_t present_in(const Measured& measured) {
  return static_cast<std::size_t>(
      std::ranges::count(measured.hosts, Presence::Present, &HostResult::presence));
}

// Each on a line of its own, so that no host's reason hides another's.
void tell_absent(const Measured& measured, const cli::Context& context) {
  for (const HostResult& host : measured.hosts) {
    if (host.error && !context.quiet) {
      fmt::print(context.err, "{}: {}\n", cli::printable(host.name),
                 cli::printable(describe(*host.error)));
    }
  }
}

}  // namespace

cli::Summary PreflightCommand::summary() const {
  return {
      .name = "preflight",
      .purpose = "is any host, link, slot or path of a cluster not what it should be?",
      .description =
          "Tests all pairs of hosts each way before a job starts: who answers, doctor on each "
          "host, names, round trips, loss, the largest packet and TCP, in rounds in which no host "
          "is in two tests at once; then what looked slow again with nothing else on, everything "
          "at once across the cluster, RDMA where there is any, and a collective over all. It says "
          "which host, port, slot, link or setting is at fault, with the evidence and the next "
          "step.\n\n"
          "On each host 'chokepoint serve' must run, with the same --key-file; or --launch starts "
          "it there for as long as the preflight takes. Hosts are names or addresses, "
          "HOST:PORT, or lists such as gpu[01-16]; without any, those of the Slurm job that it "
          "runs in.\n\n"
          "The exit code is 3 when a finding is CRITICAL, with --strict on a WARNING, too: as "
          "doctor's. A link that carries less than half of what it should, lost packets and a host "
          "that is missing are CRITICAL. It is 1 when no two hosts could be tested.",
      .examples = {
          {"chokepoint preflight gpu1 gpu2 gpu3 --key-file KEY", "three hosts that run serve"},
          {"chokepoint preflight 'gpu[01-16]' --quick --launch ssh",
           "sixteen in less than a minute, with agents started by ssh"},
          {"chokepoint preflight --launch slurm --time-limit 60 --json",
           "all hosts of this Slurm job, for a prolog"},
          {"chokepoint preflight 'gpu[01-16]' --keep today.json --baseline last.json -o page.html",
           "against last time, and as a page"}}};
}

void PreflightCommand::define(cli::Flags& flags) {
  flags.positional("HOST", &hosts_.hosts, "HOST, HOST:PORT, or a list such as gpu[01-16]", false);
  flags.group("Which hosts")
      .option("hosts-file", &hosts_.file, "FILE", "a host on each line, as mpirun's files have it")
      .option("port,p", &hosts_.port, "PORT", "control port of their agents", 1, 65535)
      .toggle("ipv4,4", &ipv4_, "IPv4 only")
      .toggle("ipv6,6", &ipv6_, "IPv6 only")
      .group("How agents are there")
      .option("key-file", &key_file_, "FILE", "the key that 'chokepoint serve' was given there")
      .choice("launch", &launcher_, {"none", "ssh", "slurm", "mpirun"},
              "start agents on the hosts; none: 'chokepoint serve' runs there")
      .option("program", &program_, "PATH", "with --launch: chokepoint on those hosts")
      .option("tarball", &tarball_, "FILE",
              "with --launch: what is copied to hosts without chokepoint")
      .option("wait", &wait_, "TIME", "call again where nothing listens yet; 0: with --launch 60 s")
      .group("How thoroughly")
      .toggle("quick", &quick_, "less than a minute for 16 hosts, and not much longer for more")
      .toggle("thorough", &thorough_, "all pairs, with long tests, whatever it takes")
      .option("time-limit", &time_limit_, "TIME",
              "for all of it; what does not fit is left out and told; 0: none")
      .option("seed", &seed_, "N", "for the choice of pairs where not all are tested; 0: any", 0,
              INT64_MAX)
      .group("How to judge")
      .option("limits", &limits_file_, "FILE", "what the cluster should be, in TOML")
      .toggle("print-limits", &print_limits_, "print the limits as such a file, and end")
      .option("baseline", &baseline_file_, "FILE", "what got worse since this (--keep's file)")
      .toggle("strict", &strict_, "exit code 3 on warnings, too")
      .group("What to show")
      .toggle("drain-list", &drain_list_,
              "for a scheduler: only the hosts at fault, a line each with the reason")
      .toggle("all,a", &all_, "every finding in full, and what passed")
      .option("keep", &keep_, "FILE", "the document, for a later --baseline");
  baseline::define(flags, record_);
}

Result<Limits> PreflightCommand::limits() const {
  return limits_file_.empty() ? Limits() : read_limits(limits_file_);
}

Result<plan::Effort> PreflightCommand::effort() const {
  if (quick_ && thorough_) {
    return fail(ErrorKind::Usage, "", "--quick, --thorough", "give only one of them");
  }
  return *plan::effort_named(quick_ ? "quick" : thorough_ ? "thorough" : "default");
}

// Agents that are started here get a key that nobody else has.
Result<std::string> PreflightCommand::key() const {
  if (launcher_ != "none") {
    if (!key_file_.empty()) {
      return fail(ErrorKind::Usage, "", "--key-file, --launch", "give only one of them",
                  "agents that are started get a key of their own");
    }
    return control::random_id();
  }
  return key_file_.empty() ? std::string() : control::read_key_text(key_file_);
}

Result<PreflightCommand::Prepared> PreflightCommand::prepare(const cli::Context& context) const {
  Prepared prepared;
  if (time_limit_.count() < 0 || wait_.count() < 0) {
    return fail(ErrorKind::Usage, "", time_limit_.count() < 0 ? "--time-limit" : "--wait",
                "must not be less than 0");
  }
  const auto take = [](auto& to, auto from) -> Result<> {
    if (!from) {
      return std::unexpected(from.error());
    }
    to = std::move(*from);
    return {};
  };
  Result<> fine = take(prepared.effort, effort());
  fine = fine ? take(prepared.limits, limits()) : fine;
  fine = fine ? take(prepared.hosts, wanted_hosts(hosts_, context.environment)) : fine;
  fine = fine ? take(prepared.key, key()) : fine;
  if (fine && !baseline_file_.empty()) {
    fine = take(prepared.before, measured_in_file(baseline_file_));
  }
  return fine ? Result<Prepared>(std::move(prepared)) : std::unexpected(fine.error());
}

lead::Wanted PreflightCommand::wanted(const Prepared& prepared, const cli::Context& context) const {
  const milliseconds appear = launcher_ == "none" ? in_ms(wait_) : milliseconds(kLaunchTime);
  return {.hosts = prepared.hosts,
          .effort = prepared.effort,
          .seed = seed_ != 0 ? static_cast<std::uint64_t>(seed_)
                             : static_cast<std::uint64_t>(context.clock.wall_ns()),
          .limit = in_ms(time_limit_),
          .arrival = kArrival + appear,
          .program = "chokepoint " + context.version};
}

Result<std::unique_ptr<Launch>> PreflightCommand::launch_agents(const Prepared& prepared,
                                                                int interrupt,
                                                                const cli::Context& context) const {
  LaunchWanted wanted{.port = static_cast<std::uint16_t>(hosts_.port),
                      .key = prepared.key,
                      .program = program_,
                      .tarball = tarball_,
                      .version = context.version,
                      .interrupt = interrupt,
                      .tell = [&](const std::string& words) {
                        if (!context.quiet) {
                          fmt::print(context.err, "{}\n", cli::printable(words));
                        }
                      }};
  for (const lead::HostWanted& host : prepared.hosts) {
    wanted.hosts.push_back(host.name);
  }
  return launch(launcher_named(launcher_), wanted, context.clock, context.root);
}

Result<cli::ExitCode> PreflightCommand::conduct(const Prepared& prepared,
                                                cli::Context& context) const {
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  Result<std::unique_ptr<Launch>> launched =
      launch_agents(prepared, signals->descriptor(), context);
  if (!launched) {
    return std::unexpected(launched.error());
  }
  const lead::Wanted wanted = this->wanted(prepared, context);
  CrewOptions options{
      .own = {.program = "chokepoint " + context.version, .host = sys::host_name(context.root)},
      .interrupt = signals->descriptor(),
      .appear = wanted.arrival - kArrival};
  options.resolve = [own = options.own.host](const std::string& name,
                                             std::optional<net::Family> only) {
    return resolve_here(name, only, own);
  };
  for (const lead::HostWanted& host : prepared.hosts) {
    options.hosts.push_back({host.name, host.port});
  }
  if (ipv4_ != ipv6_) {
    options.family = ipv4_ ? net::Family::Ipv4 : net::Family::Ipv6;
  }
  if (!prepared.key.empty()) {
    options.key = control::secret_of(prepared.key);
  }
  const Result<std::unique_ptr<Crew>> crew = Crew::make(std::move(options));
  if (!crew) {
    return std::unexpected(crew.error());
  }
  if (!context.quiet) {
    fmt::print(
        context.err, "{}\n",
        describe(plan::schedule(wanted.effort, wanted.hosts.size(), wanted.seed, wanted.limit)));
  }
  LaunchedAgents agents(**crew, **launched);
  lead::Led led;
  {
    cli::Progress bar(context, "preflight", kSteps);
    led = lead::lead(agents, wanted, advisers(prepared.limits, wanted.effort.most_suspects),
                     context.clock, [&](const lead::Progress& progress) {
                       bar.update(static_cast<std::uint64_t>(progress.share * kSteps),
                                  cli::printable(progress.doing));
                     });
  }
  if (led.broken) {
    fmt::print(context.err, "{}\n", cli::printable(describe(*led.broken)));
  }
  return show(prepared, led.measured, context);
}

Result<> PreflightCommand::write(const Measured& /*measured*/, const Judgement& /*judgement*/,
                                 const cli::Json& document, const cli::Context& context) const {
  if (!keep_.empty()) {
    const std::string text = document.dump(2, ' ', false, cli::Json::error_handler_t::replace);
    if (Result<> written = write_file(keep_, text + "\n"); !written) {
      return written;
    }
  }
  return keep(record_, {.kind = "preflight", .document = document}, context);
}

cli::ExitCode PreflightCommand::exit_code(const Measured& measured,
                                          const Judgement& judgement) const {
  if (measured.was_interrupted) {
    return cli::ExitCode::Interrupted;
  }
  const checks::Status least = strict_ ? checks::Status::Warning : checks::Status::Critical;
  return judgement.verdict >= least ? cli::ExitCode::Found : cli::ExitCode::Done;
}

Result<cli::ExitCode> PreflightCommand::show(const Prepared& prepared, const Measured& measured,
                                             const cli::Context& context) const {
  const Judgement judgement =
      judge(measured, prepared.limits, prepared.before ? &*prepared.before : nullptr);
  const cli::Json document = document_of(context, measured, judgement);
  const bool is_tested = !measured.pairs.empty();
  if (context.json) {
    cli::print(context, document);
  } else if (drain_list_) {
    context.out << drain_list(measured, judgement);
  } else if (is_tested) {
    print_page(context, measured, judgement, all_);
  } else {
    tell_absent(measured, context);
  }
  if (const Result<> written = write(measured, judgement, document, context); !written) {
    return std::unexpected(written.error());
  }
  if (!is_tested && !measured.was_interrupted) {
    return fail(ErrorKind::Unreachable, "",
                fmt::format("{} of {} hosts", present_in(measured), measured.hosts.size()),
                "can be tested, and it takes two",
                "is 'chokepoint serve' running there? --launch ssh starts it");
  }
  return exit_code(measured, judgement);
}

Result<cli::ExitCode> PreflightCommand::run(cli::Context& context) {
  if (print_limits_) {
    const Result<Limits> printed = limits();
    if (!printed) {
      return std::unexpected(printed.error());
    }
    context.out << limits_text(*printed);
    return cli::ExitCode::Done;
  }
  const Result<Prepared> prepared = prepare(context);
  return prepared ? conduct(*prepared, context) : std::unexpected(prepared.error());
}

}  // namespace chokepoint::preflight
