#include "base/host/launcher.h"

#include <gtest/gtest.h>

#include <map>

namespace chokepoint::host {
namespace {

using namespace std::string_view_literals;

TEST(Rank, IsReadFromWhatEachLauncherSets) {
  const Rank third{.rank = 3, .local_rank = 1, .world_size = 4};
  EXPECT_EQ(find_rank("PATH=/bin\0RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=4\0"sv).rank, third);
  EXPECT_EQ(find_rank("SLURM_PROCID=3\0SLURM_LOCALID=1\0SLURM_NTASKS=4\0"sv).rank, third);
  EXPECT_EQ(find_rank("OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_LOCAL_RANK=1\0"
                      "OMPI_COMM_WORLD_SIZE=4\0"sv)
                .rank,
            third);
  EXPECT_EQ(find_rank("PMI_RANK=3\0MPI_LOCALRANKID=1\0PMI_SIZE=4\0"sv).rank, third);
}

TEST(Rank, TheLauncherNearestToTheTrainingIsBelieved) {
  const RankFound found = find_rank("SLURM_PROCID=0\0RANK=5\0"sv);
  EXPECT_EQ(found.rank.rank, 5);
  EXPECT_GT(found.nearness, find_rank("SLURM_PROCID=0\0"sv).nearness);
  EXPECT_GT(find_rank("RANK=5\0LOCAL_RANK=1\0"sv).nearness, found.nearness);
}

TEST(Rank, WhatIsNoNumberIsNoRank) {
  for (const std::string_view text :
       {""sv, "RANK="sv, "RANK=x\0"sv, "RANK=-1\0"sv, "RANK=1x\0"sv, "=3\0"sv, "MYRANK=3\0"sv,
        "WORLD_SIZE=4\0LOCAL_RANK=1\0"sv, "RANK=99999999999999999999\0"sv}) {
    EXPECT_EQ(find_rank(text), RankFound{}) << text;
  }
}

TEST(Rank, WhatOneLauncherLeavesOutAnotherMaySay) {
  EXPECT_EQ(find_rank("PMIX_RANK=3\0SLURM_PROCID=3\0SLURM_LOCALID=1\0SLURM_NTASKS=4\0"sv).rank,
            (Rank{.rank = 3, .local_rank = 1, .world_size = 4}));
  EXPECT_EQ(find_rank("PMIX_RANK=3\0SLURM_PROCID=0\0SLURM_NTASKS=4\0"sv).rank.world_size,
            std::nullopt)
      << "a batch script's own task is another";
}

TEST(Rank, IsTheSameByLookingVariablesUp) {
  const std::map<std::string, std::string> set{
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"RANK", "5"}, {"LOCAL_RANK", "1"}};
  const RankFound found = find_rank([&](const std::string& name) {
    const auto at = set.find(name);
    return at == set.end() ? std::nullopt : std::optional(at->second);
  });
  EXPECT_EQ(found, find_rank("SLURM_PROCID=0\0SLURM_NTASKS=2\0RANK=5\0LOCAL_RANK=1\0"sv));
  EXPECT_EQ(found.launcher, "torchrun");
  EXPECT_EQ(find_rank("SLURM_PROCID=0\0"sv).launcher, "srun");
}

}  // namespace
}  // namespace chokepoint::host
