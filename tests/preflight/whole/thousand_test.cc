// A whole preflight of a thousand simulated hosts: calling, testing, judging.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "preflight/agents/agent_pool.h"
#include "preflight/coordinator/coordinator.h"
#include "preflight/judge/judge.h"
#include "tests/preflight/crowd/crowd.h"

namespace chokepoint::preflight {
namespace {

using crowd::Behaviour;
using crowd::Crowd;
using std::chrono::seconds;

constexpr HostIndex kHosts = 1000;
constexpr HostIndex kHostileEvery = 19;
constexpr HostIndex kSlow = 3;
constexpr double kSlowMbps = 1000;

crowd::CrowdOptions some_hostile() {
  crowd::CrowdOptions options{.hosts = kHosts};
  options.network.hosts[kSlow] = {.mbps = kSlowMbps};
  auto behaviour = static_cast<int>(Behaviour::Silent);
  for (HostIndex host = kHostileEvery; host < kHosts; host += kHostileEvery) {
    options.behaviours[host] = static_cast<Behaviour>(behaviour);
    behaviour = behaviour + 1 < static_cast<int>(Behaviour::ByteByByte)
                    ? behaviour + 1
                    : static_cast<int>(Behaviour::Silent);
  }
  return options;
}

coordinator::Wanted quick(const Crowd& crowd) {
  coordinator::Wanted wanted{.effort = coordinator::effort_named("quick").value(), .seed = 1};
  for (const net::HostPort& host : crowd.hosts()) {
    wanted.hosts.push_back({.name = host.host, .port = host.port});
  }
  return wanted;
}

TEST(Whole, AThousandHostsOfWhichSomeAreHostile) {
  const crowd::CrowdOptions simulated = some_hostile();
  const auto crowd = Crowd::start(simulated);
  ASSERT_TRUE(crowd);
  AgentPoolOptions options{.hosts = (*crowd)->hosts(), .own = {.program = "test", .host = "here"}};
  options.handshake = seconds(15);
  options.longest = [](const Task&) { return seconds(10); };
  const auto pool = AgentPool::make(std::move(options));
  ASSERT_TRUE(pool);
  const sys::SystemClock clock;
  const coordinator::CoordinatorResult led =
      coordinator::run_preflight(**pool, quick(**crowd), {}, clock, [](const auto&) {});
  ASSERT_FALSE(led.broken);
  for (HostIndex host = 0; host < kHosts; ++host) {
    EXPECT_EQ(led.measured.hosts[host].presence == Presence::Present,
              !simulated.behaviours.contains(host))
        << host;
  }
  std::set<HostIndex> accused;
  for (const Finding& finding : judge(led.measured, Limits{}, nullptr).findings) {
    if (finding.place == Place::Port && finding.check.status >= checks::Status::Warning) {
      accused.insert(finding.hosts.begin(), finding.hosts.end());
    }
  }
  EXPECT_EQ(accused, std::set<HostIndex>{kSlow});
}

}  // namespace
}  // namespace chokepoint::preflight
