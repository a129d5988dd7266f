#include "rdma/commands/rdma_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::rdma {
namespace {

using session::Parameters;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Parameters> asked(Verb verb, const std::vector<std::string>& words) {
  TestFlags test;
  cli::Flags flags;
  flags.positional("METRIC", &test.metric, "");
  define(flags, test, verb);
  if (const Result<cli::Notices> parsed = cli::parse(flags, words); !parsed) {
    return std::unexpected(parsed.error());
  }
  return parameters_of(test, verb);
}

std::string refusal(Verb verb, const std::vector<std::string>& words) {
  const Result<Parameters> parameters = asked(verb, words);
  return parameters ? "none" : describe(parameters.error());
}

TEST(RdmaFlagsTest, WithoutFlagsItIsAsUsual) {
  const Result<Parameters> bandwidth = asked(Verb::Write, {"bw"});
  ASSERT_TRUE(bandwidth) << describe(bandwidth.error());
  EXPECT_THAT(bandwidth->sizes, ElementsAre(65536U));
  EXPECT_EQ(bandwidth->time, seconds(3));
  EXPECT_EQ(bandwidth->iterations, std::nullopt);
  EXPECT_EQ(bandwidth->warm_up, 0U);
  const Result<Parameters> latency = asked(Verb::Read, {"lat"});
  ASSERT_TRUE(latency);
  EXPECT_THAT(latency->sizes, ElementsAre(2U));
  EXPECT_GT(latency->warm_up, 0U);
  EXPECT_THAT(asked(Verb::Atomic, {"lat"})->sizes, ElementsAre(8U));
}

TEST(RdmaFlagsTest, IterationsTakeTimesPlace) {
  const Result<Parameters> counted = asked(Verb::Send, {"bw", "--iterations", "1000"});
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->iterations, 1000U);
  EXPECT_EQ(counted->time, std::nullopt);
  EXPECT_THAT(refusal(Verb::Send, {"bw", "--iterations", "10", "--time", "1"}),
              HasSubstr("--iterations, --time"));
}

TEST(RdmaFlagsTest, EachVerbHasItsOperations) {
  EXPECT_EQ(asked(Verb::Write, {"bw"})->operation, verbs::Operation::Write);
  EXPECT_EQ(asked(Verb::Write, {"bw", "--immediate"})->operation, verbs::Operation::WriteImmediate);
  EXPECT_EQ(asked(Verb::Atomic, {"bw"})->operation, verbs::Operation::FetchAndAdd);
  EXPECT_EQ(asked(Verb::Atomic, {"bw", "--compare-and-swap"})->operation,
            verbs::Operation::CompareAndSwap);
  EXPECT_THAT(refusal(Verb::Read, {"bw", "--immediate"}), HasSubstr("--immediate"));
}

TEST(RdmaFlagsTest, ASweepHasEverySizeAndNoOther) {
  EXPECT_EQ(asked(Verb::Write, {"bw", "--sweep"})->sizes, session::sweep_sizes());
  EXPECT_EQ(asked(Verb::Write, {"bw", "--sweep"})->time, seconds(1));
  EXPECT_THAT(refusal(Verb::Write, {"bw", "--sweep", "--bytes", "4K"}), HasSubstr("--sweep"));
  EXPECT_THAT(refusal(Verb::Atomic, {"bw", "--sweep"}), HasSubstr("8 bytes"));
}

TEST(RdmaFlagsTest, FlowsAreTestedOneAfterTheOther) {
  const Result<Parameters> each = asked(Verb::Write, {"bw", "--flows", "24"});
  ASSERT_TRUE(each) << describe(each.error());
  EXPECT_EQ(each->time, std::chrono::milliseconds(250));
  EXPECT_THAT(refusal(Verb::Write, {"bw", "--flows", "5"}), HasSubstr("--flows"));
  for (const char* other : {"--sweep", "--both", "--cm"}) {
    EXPECT_THAT(refusal(Verb::Write, {"bw", "--flows", "24", other}), HasSubstr(other));
  }
  EXPECT_THAT(refusal(Verb::Write, {"lat", "--flows", "24"}), HasSubstr("--flows, lat"));
}

TEST(RdmaFlagsTest, WhatIsUnknownIsRefusedByName) {
  EXPECT_THAT(refusal(Verb::Write, {"throughput"}), HasSubstr("'throughput'"));
  EXPECT_THAT(refusal(Verb::Write, {"bw", "--memory", "disk"}), HasSubstr("memory 'disk'"));
  EXPECT_THAT(refusal(Verb::Write, {"bw", "--peer-device", "mlx5_0/x"}),
              HasSubstr("--peer-device mlx5_0/x"));
  EXPECT_THAT(refusal(Verb::Write, {"bw", "--bytes", "2G"}), HasSubstr("1 GiB"));
  EXPECT_THAT(refusal(Verb::Write, {"bw", "--mtu", "1500"}), HasSubstr("1024"));
}

TEST(RdmaFlagsTest, TheTransportIsWrittenSmall) {
  EXPECT_EQ(asked(Verb::Send, {"bw", "--transport", "ud"})->transport, verbs::Transport::Ud);
  EXPECT_THAT(refusal(Verb::Read, {"bw", "--transport", "ud"}), HasSubstr("over UD"));
}

TEST(RdmaFlagsTest, WhatIsCheckedIsWrittenInOrder) {
  EXPECT_TRUE(asked(Verb::Write, {"bw"})->relaxed_ordering);
  EXPECT_FALSE(asked(Verb::Write, {"bw", "--check"})->relaxed_ordering);
  EXPECT_FALSE(asked(Verb::Write, {"bw", "--strict-order"})->relaxed_ordering);
}

TEST(RdmaFlagsTest, APortHereIsNamedWithItsGid) {
  TestFlags test;
  test.device = "mlx5_1/2";
  test.gid_index = 3;
  test.gid_family = "ipv6";
  test.roce = "v1";
  const Result<session::PortRequest> wish = own_wish(test);
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->device, "mlx5_1");
  EXPECT_EQ(wish->port, 2);
  EXPECT_EQ(wish->gid_index, 3);
  EXPECT_EQ(wish->family, net::Family::Ipv6);
  EXPECT_EQ(wish->type, verbs::GidType::RoceV1);
}

}  // namespace
}  // namespace chokepoint::rdma
