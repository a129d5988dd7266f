#include "base/host/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/fakes/golden.h"

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

TEST(Rank, WhatNoJobHasIsUnknown) {
  const RankFound found = find_rank("RANK=1\0LOCAL_RANK=2147483647\0WORLD_SIZE=2147483647\0"sv);
  EXPECT_EQ(found.rank, Rank{.rank = 1});
  EXPECT_EQ(find_rank("RANK=2147483647\0WORLD_SIZE=4\0"sv), RankFound{});
  EXPECT_EQ(find_rank("RANK=1\0WORLD_SIZE=0\0"sv).rank, Rank{.rank = 1});
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

JobName job(const std::map<std::string, std::string>& set,
            const std::vector<std::string>& command = {}) {
  return find_job(
      [&](const std::string& name) {
        const auto at = set.find(name);
        return at == set.end() ? std::nullopt : std::optional(at->second);
      },
      command);
}

TEST(Job, IsNamedByItsLauncher) {
  EXPECT_EQ(job({{"SLURM_JOB_ID", "812"}, {"MASTER_ADDR", "a"}}).text, "812");
  EXPECT_EQ(job({{"SLURM_JOB_ID", "812"}, {"SLURM_STEP_ID", "0"}}).text, "812");
  EXPECT_EQ(job({{"SLURM_JOB_ID", "812"}, {"SLURM_STEP_ID", "2"}}).text, "812.2");
  EXPECT_EQ(job({{"SLURM_JOB_ID", "812"}, {"SLURM_RESTART_COUNT", "1"}}).text, "812-restart1");
  EXPECT_EQ(job({{"TORCHELASTIC_RUN_ID", "exp/7"}}).text, "exp-7");
  EXPECT_EQ(job({}, {"torchrun", "--rdzv-id=big", "train.py"}).text, "big");
  EXPECT_EQ(job({}, {"torchrun", "--rdzv_id", "big", "train.py"}).text, "big");
  EXPECT_TRUE(job({}, {"torchrun", "--rdzv_id", "big"}).is_unique);
}

TEST(Job, ElseByTheAddressWhereItsRanksMeet) {
  const JobName met{.text = "gpu1-29500", .is_unique = false};
  EXPECT_EQ(job({{"MASTER_ADDR", "gpu1"}, {"MASTER_PORT", "29500"}}), met);
  EXPECT_EQ(job({{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "gpu1-29500"}}), met);
  EXPECT_EQ(job({}, {"torchrun", "--master-addr", "gpu1", "--master_port=29500"}), met);
  EXPECT_EQ(job({}, {"torchrun", "--rdzv-endpoint=gpu1:29500", "x.py"}), met);
  EXPECT_EQ(job({{"MASTER_ADDR", "fd00::1"}}).text, "fd00--1");
}

TEST(Job, WhatNamesNoneIsEmpty) {
  EXPECT_EQ(job({}, {"python3", "train.py"}), JobName{});
  EXPECT_EQ(job({{"SLURM_STEP_ID", "3"}, {"MASTER_PORT", "29500"}}), JobName{});
  EXPECT_EQ(job({}, {"torchrun", "--rdzv-id"}), JobName{});
  EXPECT_EQ(job({{"SLURM_JOB_ID", "../x"}}).text, "-.-x");
}

using testing::ElementsAre;
using testing::SizeIs;

using Names = std::vector<std::string>;

std::string complaint(std::string_view list) {
  const Result<Names> hosts = hosts_of(list);
  return hosts ? "" : describe(hosts.error());
}

TEST(HostList, NamesStandAsTheyAre) {
  EXPECT_THAT(hosts_of("a").value(), ElementsAre("a"));
  EXPECT_THAT(hosts_of("root@b.site,10.0.0.3,fd77::1").value(),
              ElementsAre("root@b.site", "10.0.0.3", "fd77::1"));
}

TEST(HostList, BracketsCountWithTheirZeros) {
  EXPECT_THAT(hosts_of("gpu[007-009,12],login1").value(),
              ElementsAre("gpu007", "gpu008", "gpu009", "gpu12", "login1"));
  EXPECT_THAT(hosts_of("n[9-11]").value(), ElementsAre("n9", "n10", "n11"));
}

TEST(HostList, TheLastOfSeveralBracketsCountsFastest) {
  EXPECT_THAT(hosts_of("r[1-2]n[03-04].site").value(),
              ElementsAre("r1n03.site", "r1n04.site", "r2n03.site", "r2n04.site"));
  EXPECT_THAT(hosts_of("r[1][2]").value(), ElementsAre("r12"));
}

TEST(HostList, AHostNamedTwiceIsThereTwice) {
  EXPECT_THAT(hosts_of("a,a").value(), ElementsAre("a", "a"));
}

TEST(HostList, PictureOfWhatIsNoList) {
  fakes::Sentences sentences;
  for (const char* list :
       {"", ",b", "a,", "gpu[1-2", "gpu1-2]", "gpu[1[2]]", "gpu[]", "gpu[1,]", "gpu[a-b]",
        "gpu[1-2-3]", "gpu[+1]", "gpu[3-1]", "a b", "a\x1b[31m", "n[1-65537]", "n[1-65536],m",
        "n[1-300][1-300]", "n[0-999999999]", "n[99999999999]"}) {
    sentences.add(list, complaint(list));
  }
  sentences.add("300 letters", complaint(std::string(300, 'a') + "[1-2]"));
  EXPECT_GOLDEN("sentences_host_lists", sentences.text());
}

TEST(HostList, IsBounded) {
  EXPECT_THAT(hosts_of("n[1-65536]").value(), SizeIs(kMaxListedHosts));
  EXPECT_FALSE(hosts_of("n[1-65537]"));
}

TEST(HostList, TheFirstOfThem) {
  EXPECT_EQ(first_host("gpu[007-009,12],login1"), "gpu007");
  EXPECT_EQ(first_host("gpu[12,14-16]"), "gpu12");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host(""), std::nullopt);
  EXPECT_EQ(first_host("gpu[1-2"), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::host
