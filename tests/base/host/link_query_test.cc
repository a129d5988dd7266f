#include "base/host/link_query.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

LinkAnswers recorded(const std::string& json) {
  const auto tree = fakes::HostTree::from_text("");
  tree.write(kRecordedAnswers, json);
  return recorded_link_query(tree.root())->ask("eth0");
}

TEST(LinkQuery, ReadsWhatAFixtureRecorded) {
  const auto tree = fakes::HostTree::from_fixture("untuned-100g");
  const auto query = link_query_for(tree.root());
  EXPECT_EQ(query->problem(), std::nullopt);
  EXPECT_EQ(query->source(), kRecordedAnswers);
  const LinkAnswers answers = query->ask("ens1f0np0");
  EXPECT_EQ(answers.driver->driver, "mlx5_core");
  EXPECT_EQ(answers.modes->fastest_mbps, 100'000);
  EXPECT_EQ(answers.modes->partner_fastest_mbps, std::nullopt);
  EXPECT_EQ(answers.rings->rx, 512);
  EXPECT_EQ(answers.rings->rx_max, 8192);
  EXPECT_EQ(answers.channels->combined, 1);
  EXPECT_EQ(answers.coalescing->adaptive_rx, false);
  EXPECT_EQ(answers.pause->rx, false);
  EXPECT_EQ(answers.statistics.front().name, "rx_out_of_buffer");
  EXPECT_EQ(answers.qdiscs, std::vector<std::string>{"pfifo_fast"});
  ASSERT_EQ(answers.addresses.size(), 1);
  EXPECT_EQ(answers.addresses[0].address.text(), "10.10.0.11");
  EXPECT_EQ(answers.addresses[0].prefix, 24);
}

TEST(LinkQuery, TellsFixedFeatures) {
  const LinkAnswers answers =
      recorded(R"({"eth0": {"features": {"rx-lro": "off [fixed]", "rx-gro": "on"}}})");
  ASSERT_EQ(answers.features.size(), 2);
  EXPECT_TRUE(answers.features[0].fixed);
  EXPECT_FALSE(answers.features[0].active);
  EXPECT_TRUE(answers.features[1].active);
}

TEST(LinkQuery, WhatIsOfAnotherTypeIsNotKnown) {
  const LinkAnswers answers = recorded(
      R"({"eth0": {"rings": {"rx": "512", "tx": 1}, "driver": 3, "statistics": {"a": "x"},
          "addresses": ["10.0.0.1", 5], "qdiscs": [1], "features": {"rx-gro": 1}}})");
  EXPECT_EQ(answers.rings->rx, std::nullopt);
  EXPECT_EQ(answers.rings->tx, 1);
  EXPECT_EQ(answers.driver, std::nullopt);
  EXPECT_TRUE(answers.statistics.empty());
  EXPECT_TRUE(answers.addresses.empty());
  EXPECT_TRUE(answers.qdiscs.empty());
  EXPECT_TRUE(answers.features.empty());
}

TEST(LinkQuery, ACopyWithoutAnswersSaysSo) {
  const auto tree = fakes::HostTree::from_text("/sys/class/net/");
  const auto query = link_query_for(tree.root());
  ASSERT_TRUE(query->problem());
  EXPECT_EQ(query->ask("lo").driver.has_value(), false);
}

TEST(LinkQuery, ABrokenFileIsAProblem) {
  for (const char* json : {"{", "[1]", "", "3"}) {
    const auto tree = fakes::HostTree::from_text("");
    tree.write(kRecordedAnswers, json);
    const auto query = recorded_link_query(tree.root());
    EXPECT_TRUE(query->problem()) << json;
    EXPECT_TRUE(query->ask("eth0").addresses.empty());
  }
}

TEST(LinkQuery, TheRunningKernelKnowsLoopback) {
  const auto query = link_query_for(sys::Root());
  EXPECT_EQ(query->source(), "ethtool");
  EXPECT_EQ(query->problem(), std::nullopt);
  EXPECT_FALSE(query->ask("lo").features.empty());
  EXPECT_TRUE(query->ask("no-such-device").statistics.empty());
}

}  // namespace
}  // namespace chokepoint::host
