#include "probe/collective/operation.h"

#include <gtest/gtest.h>

namespace chokepoint::probe::collective {
namespace {

TEST(Operation, EveryNameIsReadAsWhatItNames) {
  for (const Collective collective :
       {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
        Collective::Broadcast, Collective::AllToAll, Collective::SendReceive}) {
    EXPECT_EQ(parse_collective(name_of(collective)), collective);
  }
  for (const ElementType type :
       {ElementType::Float32, ElementType::Float64, ElementType::Float16, ElementType::BFloat16,
        ElementType::Int32, ElementType::Int64, ElementType::Uint8}) {
    EXPECT_EQ(parse_element_type(name_of(type)), type);
  }
  EXPECT_EQ(parse_collective("allreduce"), std::nullopt);
  EXPECT_EQ(parse_element_type("fp32"), ElementType::Float32);
  EXPECT_EQ(parse_element_type("half"), ElementType::Float16);
  EXPECT_EQ(parse_element_type(""), std::nullopt);
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

}  // namespace
}  // namespace chokepoint::probe::collective
