#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

struct Words {
  std::string_view found = {};
  std::string_view why = {};
};

Words words_for(Presence presence) {
  switch (presence) {
    case Presence::Unresolved:
      return {"its name leads nowhere", "no address is known for this name here"};
    case Presence::Unreachable:
      return {"no answer", "the host is down, its cable is out, or a firewall drops packets"};
    case Presence::NoAgent:
      return {"up, and no agent listens", "'chokepoint serve' is not running there"};
    case Presence::Refused:
      return {"its agent refused the connection",
              "the keys differ, or another preflight is at work on this host"};
    case Presence::Strange:
      return {"what answers is no agent of this version",
              "another program has the port, or its chokepoint speaks another protocol"};
    case Presence::Lost:
      return {"lost in the midst of it", "the host, its agent or its link went away"};
    case Presence::Present:
      break;
  }
  return {};
}

std::string step_for(const HostResult& host) {
  const std::string name = shell_word(host.name);
  switch (host.presence) {
    case Presence::Unresolved:
      return with_note("getent hosts " + name, "fix the name server's entry or /etc/hosts");
    case Presence::Unreachable:
      return with_note(fmt::format("ping -c 3 {0}; chokepoint probe path {0}", name),
                       "then look at its console");
    case Presence::NoAgent:
      return on_host(host.name, "chokepoint serve --key-file KEY");
    case Presence::Refused:
      return with_note(
          on_host(host.name, "sha256sum KEY") + "; sha256sum KEY; pgrep -af 'chokepoint preflight'",
          "give both the same key; the last shows another preflight");
    case Presence::Strange:
      return on_host(host.name, "chokepoint --version; ss -ltnp");
    case Presence::Lost:
      return on_host(host.name, "uptime; dmesg -T | tail -n 50; journalctl -n 50");
    case Presence::Present:
      break;
  }
  return "";
}

Finding absent(const HostResult& host, HostIndex index) {
  const Words words = words_for(host.presence);
  Finding finding{.place = Place::Host, .hosts = {index}};
  finding.check = {.id = "host.present",
                   .status = Status::Critical,
                   .subject = host.name,
                   .found = std::string(words.found),
                   .wanted = "takes part",
                   .why = std::string(words.why),
                   .next_step = step_for(host)};
  if (!host.lost_during.empty()) {
    finding.check.found += " during " + host.lost_during;
  }
  if (host.error) {
    finding.check.why += fmt::format(" ({})", describe(*host.error));
  }
  return finding;
}

// A processor explains the low rates of a host if it limits these shares: of its tested paths, and
// of those that are slow for no other known reason.
constexpr double kMinTestedShare = 0.5;
constexpr double kMinSlowShare = 0.75;

// A host's one direction.
struct Load {
  std::size_t tested = 0;
  std::size_t slow = 0;               // for no other reason known
  std::vector<PathIndex> bound = {};  // of these, with a full core of this host
};

struct HostLoad {
  Load sends = {};
  Load receives = {};
  float busiest = 0;
};

bool is_busy(const ClusterInput& input, Figure percent) {
  return percent && *percent >= input.limits().cpu_percent;
}

void add(const JudgeContext& context, PathIndex index, bool is_bound, Load& load) {
  const Speed speed = context.speeds.speed[index];
  load.tested += speed != Speed::Unknown ? 1 : 0;
  if (speed == Speed::Slow && !context.explained[index]) {
    ++load.slow;
    if (is_bound) {
      load.bound.push_back(index);
    }
  }
}

std::vector<HostLoad> loads_of(const JudgeContext& context) {
  std::vector<HostLoad> loads(context.input.hosts());
  for (PathIndex index = 0; index < context.input.paths().size(); ++index) {
    const DirectedPath& path = context.input.paths()[index];
    const PathResult& result = *path.result;
    const bool sender =
        result.limit == TcpLimit::SenderCpu || is_busy(context.input, result.sender_cpu_percent);
    const bool receiver = result.limit == TcpLimit::ReceiverCpu ||
                          is_busy(context.input, result.receiver_cpu_percent);
    add(context, index, sender, loads[path.from].sends);
    add(context, index, receiver, loads[path.to].receives);
    loads[path.from].busiest =
        std::max(loads[path.from].busiest, result.sender_cpu_percent.value_or(0));
    loads[path.to].busiest =
        std::max(loads[path.to].busiest, result.receiver_cpu_percent.value_or(0));
  }
  return loads;
}

// Whether a core limits the host. A slow link leaves cores idle, so nearly all slow paths, and most
// of those tested, must have a full core.
bool is_bound(const Load& load) {
  const auto bound = static_cast<double>(load.bound.size());
  return bound > 0 && bound >= kMinSlowShare * static_cast<double>(load.slow) &&
         bound >= kMinTestedShare * static_cast<double>(load.tested);
}

struct Bound {
  std::vector<HostIndex> hosts = {};
  std::vector<PathIndex> paths = {};
  float busiest = 0;
};

Bound bound_hosts(const JudgeContext& context) {
  Bound bound;
  const std::vector<HostLoad> loads = loads_of(context);
  for (HostIndex host = 0; host < loads.size(); ++host) {
    const std::size_t before = bound.paths.size();
    for (const Load* load : {&loads[host].sends, &loads[host].receives}) {
      if (is_bound(*load)) {
        bound.paths.insert(bound.paths.end(), load->bound.begin(), load->bound.end());
      }
    }
    if (bound.paths.size() > before) {
      bound.hosts.push_back(host);
      bound.busiest = std::max(bound.busiest, loads[host].busiest);
    }
  }
  // Both ends of a path may have had a full core.
  std::ranges::sort(bound.paths);
  const auto again = std::ranges::unique(bound.paths);
  bound.paths.erase(again.begin(), again.end());
  return bound;
}

void report(JudgeContext& context, const Bound& bound) {
  Finding finding{.place = Place::Host, .hosts = bound.hosts};
  const DirectedPath& path = context.input.paths()[bound.paths[0]];
  finding.check = {
      .id = "host.cpu",
      .status = Status::Warning,
      .subject = names_of(context.input, bound.hosts),
      .found = fmt::format("its busiest core at {:.0f} % with {} {}", bound.busiest,
                           rate_words(rate_of(*path.result).value_or(0)),
                           words_for(context.input, path)),
      .wanted = fmt::format("{} at least", rate_words(context.speeds.least[bound.paths[0]])),
      .why =
          "the processor limits these flows, not the network: what else runs there, its clock, "
          "interrupts on one core, or one flow where several are needed",
      .next_step = on_host(context.input.name(bound.hosts[0]),
                           "chokepoint doctor; top -b -n 1 | head -n 20") +
                   "; " + test_by_hand(context.input, path.from, path.to, "probe tcp --streams 4")};
  finding.evidence.push_back({"busiest core", bound.busiest, "%", "probe tcp"});
  finding.evidence.push_back({"throughput " + words_for(context.input, path),
                              rate_of(*path.result).value_or(0), "Mb/s", "probe tcp"});
  add_paths(context.input, bound.paths, finding);
  context.explain(bound.paths);
  context.add(std::move(finding));
}

// Where cores are full whether the flows are slow or not, they do not explain why a few are.
bool are_busy_anyway(const JudgeContext& context) {
  std::size_t well = 0;
  std::size_t busy = 0;
  for (PathIndex index = 0; index < context.input.paths().size(); ++index) {
    if (context.speeds.speed[index] == Speed::Well) {
      ++well;
      busy += is_bound_by_processor(context.input, *context.input.paths()[index].result) ? 1 : 0;
    }
  }
  return context.is_short_of_processors && well > 0 &&
         static_cast<double>(busy) > kMinTestedShare * static_cast<double>(well);
}

}  // namespace

void judge_presence(JudgeContext& context) {
  std::size_t present = 0;
  for (HostIndex host = 0; host < context.input.hosts(); ++host) {
    if (context.input.is_present(host)) {
      ++present;
    } else {
      context.add(absent(context.input.host(host), host));
    }
  }
  if (present > 0) {
    context.pass("host.present",
                 fmt::format("{} of {}", counted(present, "host", "hosts"), context.input.hosts()));
  }
}

void judge_versions(JudgeContext& context) {
  const std::string& here = context.input.measured().program;
  std::map<std::string, std::vector<HostIndex>> others;
  for (HostIndex host = 0; host < context.input.hosts(); ++host) {
    const std::string& program = context.input.host(host).program;
    if (!here.empty() && !program.empty() && program != here) {
      others[program].push_back(host);
    }
  }
  for (const auto& [program, hosts] : others) {
    Finding finding{.place = Place::Host, .hosts = hosts};
    finding.check = {
        .id = "host.version",
        .status = Status::Warning,
        .subject = names_of(context.input, hosts),
        .found = program,
        .wanted = here + ", as here",
        .why = "two versions may measure and judge differently",
        .next_step = with_note(on_host(context.input.name(hosts[0]), "chokepoint --version"),
                               "install the same version on all hosts")};
    context.add(std::move(finding));
  }
}

void judge_processors(JudgeContext& context) {
  const Bound bound = bound_hosts(context);
  if (!bound.hosts.empty() && !are_busy_anyway(context)) {
    report(context, bound);
  }
}

}  // namespace chokepoint::preflight
