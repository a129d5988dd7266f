#include "probe/collective/pattern.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace chokepoint::probe::collective {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::array kTypes{ElementType::Float32,  ElementType::Float64, ElementType::Float16,
                            ElementType::BFloat16, ElementType::Int32,   ElementType::Int64,
                            ElementType::Uint8};

Bytes input_of(const Operation& operation, int rank) {
  Bytes bytes(input_bytes(operation));
  Pattern(operation, rank).fill_input(bytes);
  return bytes;
}

std::uint64_t whole(const Operation& operation, const Bytes& bytes, std::uint64_t element) {
  const std::uint64_t size = bytes_of(operation.type);
  return static_cast<std::uint64_t>(
      decode(operation.type, std::span(bytes).subspan(element * size, size)));
}

Bytes sum_of(const Operation& operation) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    inputs.push_back(input_of(operation, rank));
  }
  const std::uint64_t size = bytes_of(operation.type);
  Bytes total(operation.bytes);
  for (std::uint64_t i = 0; i < operation.bytes / size; ++i) {
    std::uint64_t sum = 0;
    for (const Bytes& each : inputs) {
      sum += whole(operation, each, i);
    }
    EXPECT_LE(sum, largest_exact(operation.type));
    encode(operation.type, sum, std::span(total).subspan(i * size, size));
  }
  return total;
}

Operation operation_of(Collective collective, ElementType type, std::uint64_t bytes, int ranks) {
  Operation operation{.collective = collective, .type = type, .bytes = bytes, .ranks = ranks};
  operation.bytes = rounded(operation);
  return operation;
}

TEST(Numbers, WholeNumbersAreExactInEveryType) {
  for (const ElementType type : kTypes) {
    Bytes element(bytes_of(type));
    for (std::uint64_t value = 0; value <= std::min<std::uint64_t>(largest_exact(type), 5000);
         ++value) {
      encode(type, value, element);
      ASSERT_EQ(decode(type, element), static_cast<double>(value)) << name_of(type);
    }
  }
}

TEST(Numbers, HalvesAreReadAsTheyAreWritten) {
  const auto half = [](std::uint16_t bits) {
    Bytes element(2);
    std::memcpy(element.data(), &bits, 2);
    return decode(ElementType::Float16, element);
  };
  EXPECT_EQ(half(0x3800), 0.5);
  EXPECT_EQ(half(0xc000), -2);
  EXPECT_EQ(half(0x0001), 5.960464477539063e-08);
  EXPECT_EQ(half(0x7c00), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(half(0x7e00)));
}

TEST(Pattern, EveryRanksDataDiffer) {
  const Operation operation = operation_of(Collective::AllReduce, ElementType::Float32, 4096, 4);
  EXPECT_NE(input_of(operation, 0), input_of(operation, 1));
  EXPECT_EQ(input_of(operation, 2), input_of(operation, 2));
}

TEST(Pattern, SumsAreKnownBeforehandInEveryType) {
  for (const ElementType type : kTypes) {
    for (const int ranks : {1, 2, 7, 300, 2000}) {
      const Operation operation = operation_of(Collective::AllReduce, type, 100, ranks);
      EXPECT_EQ(Pattern(operation, 0).check_output(sum_of(operation)), std::nullopt)
          << name_of(type) << " of " << ranks;
    }
  }
}

TEST(Pattern, RepeatsOnlyAfterAPrime) {
  const Operation operation = operation_of(Collective::Broadcast, ElementType::Uint8, 1 << 18, 2);
  Bytes data = input_of(operation, 0);
  EXPECT_EQ(Pattern(operation, 1).check_output(data), std::nullopt);
  // The second half where the first should be.
  std::memcpy(data.data(), data.data() + (1 << 17), 1 << 17);
  EXPECT_TRUE(Pattern(operation, 1).check_output(data));
}

TEST(Pattern, APartOfTheSumIsEachRanksOfAReduceScatter) {
  const Operation whole_sum = operation_of(Collective::AllReduce, ElementType::Int32, 1200, 3);
  const Operation operation = operation_of(Collective::ReduceScatter, ElementType::Int32, 1200, 3);
  const Bytes sum = sum_of(whole_sum);
  for (int rank = 0; rank < 3; ++rank) {
    const auto mine = std::span(sum).subspan(static_cast<std::size_t>(rank) * 400, 400);
    EXPECT_EQ(Pattern(operation, rank).check_output(mine), std::nullopt);
  }
  EXPECT_TRUE(Pattern(operation, 1).check_output(std::span(sum).first(400)));
}

TEST(Pattern, WhatIsMovedComesFromWhereItShould) {
  const Operation gather = operation_of(Collective::AllGather, ElementType::Float16, 600, 3);
  Bytes gathered;
  Bytes exchanged;
  const Operation exchange = operation_of(Collective::AllToAll, ElementType::Float16, 600, 3);
  for (int rank = 0; rank < 3; ++rank) {
    const Bytes part = input_of(gather, rank);
    gathered.insert(gathered.end(), part.begin(), part.end());
    const Bytes block = input_of(exchange, rank);
    exchanged.insert(exchanged.end(), block.begin() + 200, block.begin() + 400);
  }
  EXPECT_EQ(Pattern(gather, 2).check_output(gathered), std::nullopt);
  EXPECT_EQ(Pattern(exchange, 1).check_output(exchanged), std::nullopt);
  EXPECT_TRUE(Pattern(exchange, 0).check_output(exchanged));
  const Operation ring = operation_of(Collective::SendReceive, ElementType::Float64, 800, 3);
  EXPECT_EQ(Pattern(ring, 0).check_output(input_of(ring, 2)), std::nullopt);
  EXPECT_TRUE(Pattern(ring, 0).check_output(input_of(ring, 1)));
}

TEST(Pattern, AWrongByteIsFoundWithWhatItShouldBe) {
  const Operation operation = operation_of(Collective::AllGather, ElementType::Int32, 300'000, 3);
  Bytes data;
  for (int rank = 0; rank < 3; ++rank) {
    const Bytes part = input_of(operation, rank);
    data.insert(data.end(), part.begin(), part.end());
  }
  // In the second rank's part, in the middle of an element, after a whole period.
  const std::uint64_t at = 100'000 + 4 * 24'001;
  const double right = decode(ElementType::Int32, std::span(data).subspan(at, 4));
  data[at + 2] ^= std::byte{1};
  const std::optional<Wrong> wrong = Pattern(operation, 2).check_output(data);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rank, 2);
  EXPECT_EQ(wrong->offset_bytes, at);
  EXPECT_EQ(wrong->wanted, right);
  EXPECT_EQ(std::abs(wrong->found.value() - right), 65536);
  EXPECT_EQ(describe(Wrong{.rank = 2, .offset_bytes = 4096, .wanted = 7, .found = 3}),
            "rank 2 has 3 at byte 4096 of its output, wanted 7");
}

}  // namespace
}  // namespace chokepoint::probe::collective
