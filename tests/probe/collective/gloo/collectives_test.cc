// Every collective with every algorithm, over gloo.cc and the module.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <tuple>
#include <vector>

#include "probe/collective/gloo/gloo.h"
#include "tests/probe/collective/made/folder_store.h"
#include "tests/probe/collective/made/made_data.h"

namespace chokepoint::probe::collective {
namespace {

using std::chrono::seconds;

struct Ended {
  std::vector<int> numbers;
  std::string problem;
};

// One rank's whole life.
Result<std::vector<int>> take_part(const Operation& operation, const std::string& algorithm,
                                   int rank, const std::filesystem::path& folder) {
  FolderStore store(folder, seconds(30));
  const RankPosition position{
      .rank = rank, .ranks = operation.ranks, .local_rank = rank, .host = "here"};
  auto group =
      gloo_backend(CHOKEPOINT_GLOO_MODULE)
          .open(position, store,
                {.interface = "127.0.0.1", .timeout = seconds(30), .algorithm = algorithm});
  if (!group) return fail(group.error());
  if (auto done = (*group)->prepare(operation); !done) return fail(done.error());
  const auto input = encode(made_input(operation, rank), operation.type);
  // The second time must not stumble over what the first one left.
  for (int again = 0; again < 2; ++again) {
    if (auto done = (*group)->write_input(input); !done) return fail(done.error());
    const auto times = (*group)->run(1);
    if (!times) return fail(times.error());
    EXPECT_EQ(times->size(), 1U);
  }
  std::vector<std::byte> output(output_bytes(operation));
  if (auto done = (*group)->read_output(output); !done) return fail(done.error());
  return decode(output, operation.type);
}

void expect_right(const Operation& operation, const std::string& algorithm = {}) {
  const FreshFolder folder;
  std::vector<Ended> ends(static_cast<std::size_t>(operation.ranks));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Ended& end = ends[static_cast<std::size_t>(rank)];
      auto numbers = take_part(operation, algorithm, rank, folder.path());
      if (numbers) {
        end.numbers = std::move(*numbers);
      } else {
        end.problem = describe(numbers.error());
      }
    });
  }
  threads.clear();
  for (int rank = 0; rank < operation.ranks; ++rank) {
    const Ended& end = ends[static_cast<std::size_t>(rank)];
    EXPECT_EQ(end.problem, "");
    EXPECT_EQ(end.numbers, made_output(operation, rank)) << "rank " << rank;
  }
}

Operation operation_of(Collective collective, ElementType type, int ranks, std::uint64_t bytes) {
  Operation operation{.collective = collective, .type = type, .bytes = bytes, .ranks = ranks};
  operation.root = ranks - 1;
  operation.bytes = rounded(operation);
  return operation;
}

class GlooCollective : public testing::TestWithParam<std::tuple<Collective, ElementType, int>> {};

TEST_P(GlooCollective, MakesOfTheRanksDataWhatItsNameSays) {
  const auto& [collective, type, ranks] = GetParam();
  expect_right(operation_of(collective, type, ranks, 4000));
}

INSTANTIATE_TEST_SUITE_P(
    OfEachType, GlooCollective,
    testing::Combine(testing::Values(Collective::AllReduce, Collective::AllGather,
                                     Collective::ReduceScatter, Collective::Broadcast,
                                     Collective::AllToAll, Collective::SendReceive),
                     testing::Values(ElementType::Float32, ElementType::Float64,
                                     ElementType::Float16, ElementType::BFloat16,
                                     ElementType::Int32, ElementType::Int64, ElementType::Uint8),
                     testing::Values(2, 3, 4)),
    [](const auto& tried) {
      std::string name = fmt::format("{}_{}_{}", name_of(std::get<0>(tried.param)),
                                     name_of(std::get<1>(tried.param)), std::get<2>(tried.param));
      std::ranges::replace(name, '-', '_');
      return name;
    });

class GlooSize : public testing::TestWithParam<Collective> {};

TEST_P(GlooSize, IsFromOneElementToManySegments) {
  expect_right(operation_of(GetParam(), ElementType::Float32, 2, 1));
  expect_right(operation_of(GetParam(), ElementType::Float32, 3, 12));
  expect_right(operation_of(GetParam(), ElementType::Float32, 2, 9'000'000));
  expect_right(operation_of(GetParam(), ElementType::Float32, 1, 4000));
}

INSTANTIATE_TEST_SUITE_P(OfEachCollective, GlooSize,
                         testing::Values(Collective::AllReduce, Collective::AllGather,
                                         Collective::ReduceScatter, Collective::Broadcast,
                                         Collective::AllToAll, Collective::SendReceive),
                         [](const auto& tried) {
                           std::string name(name_of(tried.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(GlooAlgorithm, IsTheOneThatWasNamed) {
  expect_right(operation_of(Collective::AllReduce, ElementType::Float32, 3, 4000), "ring");
  expect_right(operation_of(Collective::AllReduce, ElementType::BFloat16, 4, 4000), "bcube");
  expect_right(operation_of(Collective::ReduceScatter, ElementType::Int32, 3, 4000), "all-reduce");
}

TEST(GlooAllReduce, OfWholeNumbersAgainAndAgainWraps) {
  const FreshFolder folder;
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      FolderStore store(folder.path(), seconds(30));
      auto group = gloo_backend(CHOKEPOINT_GLOO_MODULE)
                       .open({.rank = rank, .ranks = 2, .host = "here"}, store,
                             {.interface = "127.0.0.1", .timeout = seconds(30)});
      ASSERT_TRUE(group) << describe(group.error());
      const Operation operation{.type = ElementType::Int32, .bytes = 4, .ranks = 2};
      std::vector<std::byte> one(4);
      one[0] = std::byte{1};
      ASSERT_TRUE((*group)->prepare(operation));
      ASSERT_TRUE((*group)->write_input(one));
      ASSERT_TRUE((*group)->run(33));
      ASSERT_TRUE((*group)->read_output(one));
      EXPECT_EQ(one, std::vector<std::byte>(4)) << "2 to the power of 33";
    });
  }
}

TEST(GlooReduceScatter, KnowsRanksThatAreNoPowerOfTwo) {
  for (const int ranks : {5, 6, 7}) {
    expect_right(operation_of(Collective::ReduceScatter, ElementType::Float32, ranks, 4000));
  }
}

}  // namespace
}  // namespace chokepoint::probe::collective
