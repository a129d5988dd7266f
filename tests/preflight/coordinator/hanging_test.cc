#include "preflight/coordinator/hanging.h"

#include <gtest/gtest.h>

#include "tests/preflight/coordinator/led.h"

namespace chokepoint::preflight::coordinator {
namespace {

Measured of_hosts(HostIndex hosts) {
  Measured measured;
  for (HostIndex a = 0; a < hosts; ++a) {
    measured.hosts.push_back(
        {.name = FakeAgents::name(a),
         .address = FakeAgents::address(a),
         .facts = HostFacts{.interfaces = {{.addresses = {FakeAgents::address(a)}, .mtu = 9000}}}});
    for (HostIndex b = a + 1; b < hosts; ++b) {
      measured.pairs.push_back({.a = a, .b = b});
    }
  }
  return measured;
}

void swallow(Measured& measured, HostIndex from, HostIndex to) {
  for (PairResult& pair : measured.pairs) {
    if (pair.a == from && pair.b == to) {
      pair.there.black_hole_bytes = 1501.0F;
    }
    if (pair.a == to && pair.b == from) {
      pair.back.black_hole_bytes = 1501.0F;
    }
  }
}

TEST(Hanging, NothingOfACleanCluster) {
  const Hanging hanging(of_hosts(4));
  EXPECT_FALSE(hanging.contains(0, 1));
  EXPECT_FALSE(hanging.is_host(0));
}

TEST(Hanging, OneWayIsThatWayAlone) {
  Measured measured = of_hosts(4);
  swallow(measured, 2, 1);
  const Hanging hanging(measured);
  EXPECT_TRUE(hanging.contains(2, 1));
  EXPECT_FALSE(hanging.contains(1, 2));
  EXPECT_FALSE(hanging.contains(2, 3));
  EXPECT_FALSE(hanging.is_host(2));
}

TEST(Hanging, TwoWaysAreTheHostsDirection) {
  Measured measured = of_hosts(8);
  swallow(measured, 0, 3);
  swallow(measured, 5, 3);
  const Hanging hanging(measured);
  EXPECT_TRUE(hanging.contains(7, 3));
  EXPECT_FALSE(hanging.contains(3, 7));
  EXPECT_FALSE(hanging.contains(0, 5));
  EXPECT_TRUE(hanging.is_host(3));
  EXPECT_FALSE(hanging.is_host(0));
}

Error failed(ErrorKind kind) { return fail(kind, "", "h1", "no").error(); }

// TCP's packets are no larger than either end's interface takes.
TEST(Hanging, NotWhereAnEndTakesNoLargerPackets) {
  Measured measured = of_hosts(4);
  swallow(measured, 0, 3);
  measured.hosts[3].facts->interfaces[0].mtu = 1500;
  EXPECT_FALSE(Hanging(measured).contains(0, 3));
}

TEST(Hanging, TestsThatDidNotEnd) {
  Measured measured = of_hosts(4);
  measured.troubles.push_back({0, 1, "tcp", failed(ErrorKind::Timeout)});
  measured.troubles.push_back({2, 1, "tcp", failed(ErrorKind::Refused)});
  measured.troubles.push_back({3, 1, "path", failed(ErrorKind::Timeout)});
  const Hanging hanging(measured);
  EXPECT_TRUE(hanging.contains(0, 1));
  EXPECT_FALSE(hanging.contains(2, 1));
  EXPECT_FALSE(hanging.contains(3, 1));
}

std::optional<Result<control::Json>> swallowing_path(const Asked& asked) {
  if (asked.task.kind != TaskKind::Path || asked.task.peer != FakeAgents::address(3)) {
    return std::nullopt;
  }
  control::Json document = document_for(asked.task);
  document["families"]["ipv4"]["forward"]["mtu"]["black_hole_from_bytes"] = 1501;
  return document;
}

TEST(Hanging, IsNotTestedNorPartOfTheCollective) {
  FakeAgents agents(4);
  agents.answer = swallowing_path;
  const Measured measured = led(agents, wanted_of(4));
  for (const Asked& asked : agents.asked) {
    const bool is_bulk = asked.task.kind == TaskKind::Tcp;
    EXPECT_FALSE(is_bulk && asked.task.sends && asked.task.peer == FakeAgents::address(3));
    if (asked.task.kind == TaskKind::Collective) {
      EXPECT_EQ(asked.task.hosts.size(), 3U);
    }
  }
  EXPECT_TRUE(measured.pairs[2].back.tcp_mbps);
  EXPECT_FALSE(measured.pairs[2].there.tcp_mbps);
  EXPECT_EQ(measured.left_out.size(), 2U);
}

}  // namespace
}  // namespace chokepoint::preflight::coordinator
