#include "probe/collective/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::probe::collective {
namespace {

TEST(Operation, EveryNameIsReadAsWhatItNames) {
  for (const Collective collective :
       {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
        Collective::Broadcast, Collective::AllToAll, Collective::SendReceive}) {
    EXPECT_EQ(named<Collective>(name_of(collective)), collective);
  }
  for (const ElementType type :
       {ElementType::Float32, ElementType::Float64, ElementType::Float16, ElementType::BFloat16,
        ElementType::Int32, ElementType::Int64, ElementType::Uint8}) {
    EXPECT_EQ(type_named(name_of(type)), type);
  }
  EXPECT_EQ(named<Collective>("allreduce"), std::nullopt);
  EXPECT_EQ(type_named("fp32"), ElementType::Float32);
  EXPECT_EQ(type_named("half"), ElementType::Float16);
  EXPECT_EQ(type_named(""), std::nullopt);
}

TEST(Operation, InputAndOutputShareTheSizeAsTheCollectiveDoes) {
  Operation operation{.bytes = 4096, .ranks = 4};
  EXPECT_EQ(input_bytes(operation), 4096U);
  EXPECT_EQ(output_bytes(operation), 4096U);
  operation.collective = Collective::AllGather;
  EXPECT_EQ(input_bytes(operation), 1024U);
  EXPECT_EQ(output_bytes(operation), 4096U);
  operation.collective = Collective::ReduceScatter;
  EXPECT_EQ(input_bytes(operation), 4096U);
  EXPECT_EQ(output_bytes(operation), 1024U);
  operation.collective = Collective::AllToAll;
  EXPECT_EQ(input_bytes(operation), 4096U);
  EXPECT_EQ(output_bytes(operation), 4096U);
}

TEST(Operation, ASizeIsRoundedUpToWhatTheRanksCanShare) {
  EXPECT_EQ(rounded({.type = ElementType::Float32, .bytes = 10, .ranks = 3}), 12U);
  EXPECT_EQ(rounded({.collective = Collective::AllGather,
                     .type = ElementType::Float64,
                     .bytes = 25,
                     .ranks = 3}),
            48U);
  EXPECT_EQ(rounded({.type = ElementType::Uint8, .bytes = 7, .ranks = 3}), 7U);
  EXPECT_EQ(rounded({.collective = Collective::AllToAll, .bytes = 0, .ranks = 2}), 8U);
}

TEST(Operation, BusBandwidthIsByTheKnownFactors) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::AllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::AllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::ReduceScatter, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::AllToAll, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::Broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::SendReceive, 4), 1);
}

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint64_t> sizes(std::string_view text, double factor = 2) {
  return parse_sizes(text, factor).value();
}

TEST(Sizes, AreOneSomeOrARange) {
  EXPECT_THAT(sizes("64M"), ElementsAre(64U << 20));
  EXPECT_THAT(sizes("1M,1K,1M"), ElementsAre(1024, 1U << 20));
  EXPECT_THAT(sizes("8..64"), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(sizes("1K..20K", 4), ElementsAre(1024, 4096, 16384));
  EXPECT_THAT(sizes("5..5"), ElementsAre(5));
}

TEST(Sizes, ASlowFactorStillGetsOn) { EXPECT_THAT(sizes("1..4", 1.1), ElementsAre(1, 2, 3, 4)); }

TEST(Sizes, MistakesSayWhatIsWanted) {
  for (const std::string_view text :
       {"", "0", ",", "1K,", "x", "8..", "..8", "9..8", "1..1G..2G", "2000G", "-1", "1K 2K"}) {
    const auto parsed = parse_sizes(text, 2);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::Usage);
    EXPECT_THAT(describe(parsed.error()), HasSubstr("8..512M")) << text;
  }
  EXPECT_FALSE(parse_sizes("1..1G", 1));
  EXPECT_FALSE(parse_sizes("1..1G", -2));
  EXPECT_FALSE(parse_sizes("1..1G", 1.0001)) << "millions of them";
}

}  // namespace

}  // namespace chokepoint::probe::collective
