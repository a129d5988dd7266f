// Where the other address family has the better path: route.cc through a whole diagnosis.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/attribution/route.h"
#include "tests/analysis/attribution/made_scene.h"
#include "tests/analysis/made_probe.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

// a sends to b at 900 Mb/s by IPv4; there is a third host.
class BetterFamily : public testing::Test {
 protected:
  BetterFamily() {
    for (const char* host : {"a", "b", "c"}) {
      made_.host(host);
      made_.node(host).interfaces.front().addresses.push_back(fmt::format("fd00::{}/64", host));
    }
    made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, full_link());
  }
  void probe(const std::string& node, const std::string& document) {
    made_.node(node).probes.push_back({.kind = "tcp", .document = document});
  }
  // One way, as the host that runs it calls it.
  void probe(const std::string& node, const char* way, const char* address, double mbps) {
    probe(node, made_tcp(named<documents::Direction>(way).value(), address, mbps));
  }
  std::optional<BetterRoute> better() {
    const MadeScene made(made_.data);
    const DirectionLimits& direction = made.limit_timeline.directions.at(0);
    return better_route(made.input, direction, route_of(made.input, direction));
  }

  MadeRun made_;
};

TEST_F(BetterFamily, IsNoneThatNobodyMeasured) { EXPECT_FALSE(better()); }

TEST_F(BetterFamily, IsTheOtherOneWhereItCarriesMuchMore) {
  probe("a", "send", "fd00::b", 950);
  EXPECT_FALSE(better());
  probe("a", "send", "fd00::b", 5000);
  const auto found = better();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::AddressFamily);
  EXPECT_EQ(found->address, "fd00::b");
  EXPECT_DOUBLE_EQ(found->mbps, 5000);
}

TEST_F(BetterFamily, IsNotTheOneThatIsUsed) {
  probe("a", "send", "10.0.0.2", 9000);
  probe("a", "send", "::ffff:10.0.0.2", 9000);
  EXPECT_FALSE(better());
}

TEST_F(BetterFamily, IsNotToldByAProbeOfAnotherHost) {
  probe("a", "send", "fd00::c", 9000);
  probe("c", "send", "fd00::b", 9000);
  probe("a", "send", "fd00::77", 9000);
  EXPECT_FALSE(better());
}

TEST_F(BetterFamily, IsNotToldByTheOtherDirection) {
  probe("a", "receive", "fd00::b", 9000);
  EXPECT_FALSE(better());
}

TEST_F(BetterFamily, IsToldByTheReceiversProbeToo) {
  probe("b", "receive", "fd00::a", 9000);
  const auto found = better();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, "fd00::b");  // where the job shall meet
}

TEST_F(BetterFamily, IsToldByAProbeOfBothWays) {
  probe("a", made_tcp_both("fd00::b", 5000, 100));
  ASSERT_TRUE(better());
  EXPECT_DOUBLE_EQ(better()->mbps, 5000);
}

TEST_F(BetterFamily, IsNotToldByWhatNobodyUnderstands) {
  for (const char* document :
       {"", "{", "[]", "7", R"({"schema":"chokepoint.probe.tcp/1","peer":7})",
        R"({"peer":{"address":"fd00::b"},"direction":"send","throughput_mbps":9000})"}) {
    probe("a", document);
    EXPECT_FALSE(better()) << document;
  }
  probe("a", "send", "b", 9000);
  EXPECT_FALSE(better()) << "a name is no address";
}

}  // namespace
}  // namespace chokepoint::analysis
