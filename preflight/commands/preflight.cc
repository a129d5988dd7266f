#include "preflight/commands/preflight.h"

#include <fmt/format.h>

#include "base/control/client.h"
#include "base/control/handshake.h"
#include "base/sys/file.h"
#include "preflight/commands/commands.h"
#include "preflight/report/document.h"

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kQuick{60'000};
constexpr seconds kLaunchTime{60};  // to reach a host, copy what is missing, and start it
constexpr seconds kArrival{75};     // beyond the longest that calls may take by themselves
constexpr std::int64_t kMaxSeed = (std::int64_t{1} << 53) - 1;  // that every reader of JSON has

// Beyond what a thousand hosts write, each of which was tested with each other.
constexpr std::size_t kMaxBaselineBytes = std::size_t{1} << 30;

milliseconds in_ms(std::chrono::nanoseconds time) { return std::chrono::ceil<milliseconds>(time); }

Launcher launcher_named(const std::string& name) {
  return name == "ssh"      ? Launcher::Ssh
         : name == "slurm"  ? Launcher::Slurm
         : name == "mpirun" ? Launcher::Mpirun
                            : Launcher::None;
}

Result<Measured> measured_in_file(const std::string& path) {
  Result<std::string> text = sys::read_input(path, kMaxBaselineBytes, "");
  if (!text) {
    text.error().subject = "--baseline " + path;
    text.error().next_step = "give what 'chokepoint preflight --keep FILE' wrote";
    return fail(std::move(text.error()));
  }
  Result<Measured> measured = measured_in_text(*text);
  if (!measured) {
    measured.error().operation.clear();
    measured.error().subject = "--baseline " + path;
  }
  return measured;
}

// The first mistake is the error; what comes after it is not checked.
template <class T>
void take(T& to, Result<T> from, Result<>& fine) {
  if (fine && !from) {
    fine = std::unexpected(std::move(from.error()));
  } else if (fine) {
    to = std::move(*from);
  }
}

class PreflightCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  // All that can be wrong with the flags and files is found before anything is started.
  std::chrono::milliseconds own_limit(const Conduct& made) const;
  Result<Conduct> prepare(const cli::Context& context);
  Result<> check_times() const;
  Result<> check_launch(const Conduct& made) const;
  Result<Limits> limits() const;
  Result<coordinator::Effort> effort() const;
  Result<std::string> key() const;

  HostFlags hosts_;
  bool quick_ = false;
  bool thorough_ = false;
  std::chrono::nanoseconds time_limit_{0};
  std::chrono::nanoseconds wait_{0};
  std::int64_t seed_ = 0;
  std::string launcher_ = "none";
  std::string program_ = {};
  std::string copy_ = {};
  std::string key_file_ = {};
  bool ipv4_ = false;
  bool ipv6_ = false;
  std::string limits_file_ = {};
  bool print_limits_ = false;
  std::string baseline_file_ = {};
  Showing showing_;
};

cli::Summary PreflightCommand::summary() const {
  return {
      .name = "preflight",
      .purpose = "which hosts, links, slots or paths of a cluster have a fault?",
      .description =
          "Tests every pair of hosts in both directions before a job starts: which hosts answer, "
          "doctor on each host, name lookups, round trips, loss, the largest packet and TCP, in "
          "rounds in which no host takes part in two tests. Then it repeats slow tests with no "
          "other test running, loads many pairs across the cluster at the same time, and tests "
          "RDMA where there is any and a collective operation over all hosts. It reports which "
          "host, port, slot, link or setting is at fault, with the evidence and the next step.\n\n"
          "'chokepoint serve' must run on each host, with the same --key-file; or --launch starts "
          "it there for as long as the preflight takes. Hosts are names or addresses, "
          "HOST:PORT, or lists such as gpu[01-16]; if none is given, those of the Slurm job in "
          "which it runs.\n\n"
          "The exit code is 3 if a finding is CRITICAL, with --strict also if one is a WARNING, as "
          "doctor's is. A link that carries less than half of what it should, lost packets and a "
          "host that is missing are CRITICAL. It is 1 when no two hosts could be tested.",
      .examples = {
          {"chokepoint preflight gpu1 gpu2 gpu3 --key-file KEY", "three hosts that run serve"},
          {"chokepoint preflight 'gpu[01-16]' --quick --launch ssh",
           "sixteen in less than a minute, with agents started by ssh"},
          {"chokepoint preflight --launch slurm --time 60 --json",
           "all hosts of this Slurm job, for a prolog"},
          {"chokepoint preflight 'gpu[01-16]' --key-file KEY --keep today.json --baseline "
           "last.json "
           "-o page.html",
           "compared with the last time, and as a page"}}};
}

void PreflightCommand::define(cli::Flags& flags) {
  flags.positional("HOST", &hosts_.hosts, "HOST, HOST:PORT, or a list such as gpu[01-16]", false);
  flags.group("Which hosts")
      .option("hosts-file", &hosts_.file, "FILE", "a host on each line, as mpirun's files have it")
      .option("port,p", &hosts_.port, "PORT", "control port of their agents", 1, 65535)
      .toggle("ipv4,4", &ipv4_, "IPv4 only")
      .toggle("ipv6,6", &ipv6_, "IPv6 only")
      .group("Agents")
      .option("key-file", &key_file_, "FILE", "the key of their 'chokepoint serve'")
      .choice("launch", &launcher_, {"none", "ssh", "slurm", "mpirun"},
              "start agents on the hosts; none: 'chokepoint serve' runs there")
      .option("program", &program_, "PATH", "with --launch: the chokepoint to run on those hosts")
      .option("copy", &copy_, "FILE",
              "with --launch: the program of a release to copy to hosts without chokepoint; "
              "default: this one")
      .option("wait", &wait_, "TIME",
              "how long to retry hosts where nothing listens yet; 0: none, with --launch 60 s")
      .group("How thoroughly")
      .toggle("quick", &quick_, "less than a minute for 16 hosts, and not much longer for more")
      .toggle("thorough", &thorough_, "all pairs, with long tests, however long that takes")
      .option("time,t", &time_limit_, "TIME",
              "of the whole preflight; pairs that do not fit are left out and reported; 0: with "
              "--quick a minute, or twice the expected time, else no limit")
      .formerly("time-limit")
      .option("seed", &seed_, "N", "for the choice of pairs if not all are tested; 0: any", 0,
              kMaxSeed)
      .group("How to judge")
      .option("limits", &limits_file_, "FILE", "what the cluster should reach, in TOML")
      .toggle("print-limits", &print_limits_, "print the limits as such a file, and end")
      .option("baseline", &baseline_file_, "FILE",
              "an earlier result (a file of --keep): reports what became worse")
      .toggle("strict", &showing_.strict, "exit code 3 on warnings, too")
      .group("What to show")
      .toggle("drain-list", &showing_.drain_list,
              "for a scheduler: only the hosts at fault, a line each with the reason")
      .toggle("all,a", &showing_.all, "every finding in full, and what passed")
      .option("output,o", &showing_.output, "FILE", "the same as a page for a browser")
      .option("keep", &showing_.keep, "FILE", "the document, for a later --baseline");
  baseline::define(flags, showing_.record);
}

Result<Limits> PreflightCommand::limits() const {
  return limits_file_.empty() ? Limits() : read_limits(limits_file_);
}

Result<coordinator::Effort> PreflightCommand::effort() const {
  if (quick_ && thorough_) {
    return fail(ErrorKind::Usage, "", "--quick, --thorough", "give only one of them");
  }
  return *coordinator::effort_named(quick_ ? "quick" : thorough_ ? "thorough" : "default");
}

// Agents that are started here get a key of their own.
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

Result<> PreflightCommand::check_times() const {
  for (const auto& [name, time] : {std::pair("--time", time_limit_), {"--wait", wait_}}) {
    if (time.count() < 0) {
      return fail(ErrorKind::Usage, "", name, "must not be less than 0");
    }
  }
  return {};
}

// What a launcher alone uses; and the agents that it starts listen at one port.
Result<> PreflightCommand::check_launch(const Conduct& made) const {
  if (launcher_ == "none") {
    const std::string lone = !program_.empty() ? "--program" : !copy_.empty() ? "--copy" : "";
    return lone.empty() ? Result<>() : fail(ErrorKind::Usage, "", lone, "needs --launch");
  }
  for (const coordinator::HostWanted& host : made.wanted.hosts) {
    if (host.port != made.port) {
      return fail(ErrorKind::Usage, "", fmt::format("{}:{}", host.name, host.port),
                  "agents that are started listen at one port", "give it by --port");
    }
  }
  return {};
}

// A quick preflight also ends in time, whatever hosts and links do.
milliseconds PreflightCommand::own_limit(const Conduct& made) const {
  return quick_ ? made.appear + kQuick : milliseconds(0);
}

Result<Conduct> PreflightCommand::prepare(const cli::Context& context) {
  Conduct made;
  made.launcher = launcher_named(launcher_);
  made.port = static_cast<std::uint16_t>(hosts_.port);
  made.program = program_;
  made.copy = copy_;
  made.appear = launcher_ == "none" ? in_ms(wait_) : milliseconds(kLaunchTime);
  Result<> fine = check_times();
  take(made.wanted.effort, effort(), fine);
  take(made.limits, limits(), fine);
  take(made.wanted.hosts, wanted_hosts(hosts_, context.environment), fine);
  take(made.key, key(), fine);
  take(made.family, control::family_of(ipv4_, ipv6_), fine);
  if (fine) {
    fine = check_launch(made);
  }
  if (fine && !baseline_file_.empty()) {
    take(showing_.before.emplace(), measured_in_file(baseline_file_), fine);
  }
  if (!fine) {
    return std::unexpected(fine.error());
  }
  made.wanted.seed =
      static_cast<std::uint64_t>(seed_ != 0 ? seed_ : context.clock.wall_ns() % kMaxSeed);
  made.wanted.limit = time_limit_.count() > 0 ? in_ms(time_limit_) : own_limit(made);
  made.wanted.arrival = kArrival + made.appear;
  made.wanted.program = "chokepoint " + context.version;
  return made;
}

Result<cli::ExitCode> PreflightCommand::run(cli::Context& context) {
  TRY(baseline::check(showing_.record));
  if (print_limits_) {
    TRY(const Limits printed, limits());
    context.out << limits_text(printed);
    return cli::ExitCode::Done;
  }
  TRY(can_show(showing_));
  TRY(const Conduct prepared, prepare(context));
  showing_.limits = prepared.limits;
  const Result<Measured> measured = conduct(prepared, context);
  return measured ? show(showing_, *measured, context) : std::unexpected(measured.error());
}

}  // namespace

cli::CommandFactory preflight_command() { return cli::command<PreflightCommand>(); }

}  // namespace chokepoint::preflight
