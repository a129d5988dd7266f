#include "preflight/judge/processors.h"

#include <fmt/format.h>

#include <algorithm>

#include "preflight/judge/shell.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

constexpr double kMostTested = 0.5;
constexpr double kNearlyAllSlow = 0.75;

// A host's one direction.
struct Load {
  std::size_t tested = 0;
  std::size_t slow = 0;              // for no other reason known
  std::vector<WayIndex> bound = {};  // of these, with this host's core busy
};

struct HostLoad {
  Load sends = {};
  Load receives = {};
  float busiest = 0;
};

bool is_busy(const ClusterInput& scene, Figure percent) {
  return percent && *percent >= scene.limits().cpu_percent;
}

void add(const JudgeContext& desk, WayIndex index, bool is_bound, Load& load) {
  const Speed speed = desk.speeds.speed[index];
  load.tested += speed != Speed::Unknown ? 1 : 0;
  if (speed == Speed::Slow && !desk.explained[index]) {
    ++load.slow;
    if (is_bound) {
      load.bound.push_back(index);
    }
  }
}

std::vector<HostLoad> loads_of(const JudgeContext& desk) {
  std::vector<HostLoad> loads(desk.scene.hosts());
  for (WayIndex index = 0; index < desk.scene.ways().size(); ++index) {
    const Way& way = desk.scene.ways()[index];
    const WayResult& result = *way.result;
    const bool sender =
        result.limit == TcpLimit::SenderCpu || is_busy(desk.scene, result.sender_cpu_percent);
    const bool receiver =
        result.limit == TcpLimit::ReceiverCpu || is_busy(desk.scene, result.receiver_cpu_percent);
    add(desk, index, sender, loads[way.from].sends);
    add(desk, index, receiver, loads[way.to].receives);
    loads[way.from].busiest =
        std::max(loads[way.from].busiest, result.sender_cpu_percent.value_or(0));
    loads[way.to].busiest =
        std::max(loads[way.to].busiest, result.receiver_cpu_percent.value_or(0));
  }
  return loads;
}

// A slow link keeps a core from being busy: nearly all that is slow must be the core's, and most of
// what was tested.
bool is_bound(const Load& load) {
  const auto bound = static_cast<double>(load.bound.size());
  return bound > 0 && bound >= kNearlyAllSlow * static_cast<double>(load.slow) &&
         bound >= kMostTested * static_cast<double>(load.tested);
}

struct Bound {
  std::vector<HostIndex> hosts = {};
  std::vector<WayIndex> ways = {};
  float busiest = 0;
};

Bound bound_hosts(const JudgeContext& desk) {
  Bound bound;
  const std::vector<HostLoad> loads = loads_of(desk);
  for (HostIndex host = 0; host < loads.size(); ++host) {
    const std::size_t before = bound.ways.size();
    for (const Load* load : {&loads[host].sends, &loads[host].receives}) {
      if (is_bound(*load)) {
        bound.ways.insert(bound.ways.end(), load->bound.begin(), load->bound.end());
      }
    }
    if (bound.ways.size() > before) {
      bound.hosts.push_back(host);
      bound.busiest = std::max(bound.busiest, loads[host].busiest);
    }
  }
  // Both ends of a way may have been busy.
  std::ranges::sort(bound.ways);
  const auto again = std::ranges::unique(bound.ways);
  bound.ways.erase(again.begin(), again.end());
  return bound;
}

void report(JudgeContext& desk, const Bound& bound) {
  Finding finding;
  finding.place = Place::Host;
  finding.hosts = bound.hosts;
  const Way& way = desk.scene.ways()[bound.ways[0]];
  finding.check = {
      .id = "host.cpu",
      .status = Status::Warning,
      .subject = names_of(desk.scene, bound.hosts),
      .found =
          fmt::format("its busiest core at {:.0f} % with {} {}", bound.busiest,
                      rate_words(rate_of(*way.result).value_or(0)), words_for(desk.scene, way)),
      .wanted = fmt::format("{} at least", rate_words(desk.speeds.least[bound.ways[0]])),
      .why =
          "the processor limits these flows, not the network: what else runs there, its clock, "
          "interrupts on one core, or one flow where several are needed",
      .next_step =
          on_host(desk.scene.name(bound.hosts[0]), "chokepoint doctor; top -b -n 1 | head -n 20") +
          "; " + test_by_hand(desk.scene, way.from, way.to, "probe tcp --streams 4")};
  finding.evidence.push_back({"busiest core", bound.busiest, "%", "probe tcp"});
  finding.evidence.push_back({"throughput " + words_for(desk.scene, way),
                              rate_of(*way.result).value_or(0), "Mb/s", "probe tcp"});
  for (const WayIndex index : bound.ways) {
    finding.ways.emplace_back(desk.scene.ways()[index].from, desk.scene.ways()[index].to);
  }
  desk.explain(bound.ways);
  desk.findings.push_back(std::move(finding));
}

// Where processors are busy whether the flows are slow or not, they do not tell why a few are.
bool are_busy_anyway(const JudgeContext& desk) {
  std::size_t well = 0;
  std::size_t busy = 0;
  for (WayIndex index = 0; index < desk.scene.ways().size(); ++index) {
    if (desk.speeds.speed[index] == Speed::Well) {
      ++well;
      busy += is_bound_by_processor(desk.scene, *desk.scene.ways()[index].result) ? 1 : 0;
    }
  }
  return desk.is_short_of_processors && well > 0 &&
         static_cast<double>(busy) > kMostTested * static_cast<double>(well);
}

}  // namespace

void judge_processors(JudgeContext& desk) {
  const Bound bound = bound_hosts(desk);
  if (!bound.hosts.empty() && !are_busy_anyway(desk)) {
    report(desk, bound);
  }
}

}  // namespace chokepoint::preflight
