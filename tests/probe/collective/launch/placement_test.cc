#include "probe/collective/launch/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace chokepoint::probe::collective {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Result<std::optional<RankPlacement>> find(const Variables& set) {
  return find_placement(
      [&](const std::string& name) {
        const auto at = set.find(name);
        return at == set.end() ? std::nullopt : std::optional(at->second);
      },
      "hubble");
}

RankPlacement placement_in(const Variables& set) {
  const auto found = find(set);
  EXPECT_TRUE(found && *found) << (found ? "none" : describe(found.error()));
  return found && *found ? **found : RankPlacement{};
}

Variables torchrun() {
  return {{"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"MASTER_ADDR", "voyager"},
          {"MASTER_PORT", "29400"},
          {"TORCHELASTIC_RUN_ID", "none"}};
}

Variables with(Variables set, const Variables& more) {
  for (const auto& [name, value] : more) {
    set[name] = value;
  }
  return set;
}

TEST(RankPlacement, IsWhereTorchrunSays) {
  const RankPlacement found = placement_in(torchrun());
  EXPECT_EQ(found.position.rank, 3);
  EXPECT_EQ(found.position.ranks, 4);
  EXPECT_EQ(found.position.local_rank, 1);
  EXPECT_EQ(found.position.host, "hubble");
  EXPECT_EQ(found.meeting.host, "voyager");
  EXPECT_EQ(found.meeting.port, 29400);
  EXPECT_EQ(found.launcher, "torchrun");
  EXPECT_FALSE(found.leads());
  EXPECT_TRUE(placement_in(with(torchrun(), {{"RANK", "0"}})).leads());
}

TEST(RankPlacement, ThePortThatTorchrunsAgentHoldsIsLeftToIt) {
  EXPECT_EQ(placement_in(with(torchrun(), {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).meeting.port,
            29401);
  EXPECT_EQ(
      placement_in(with(torchrun(), {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).meeting.port,
      29400);
}

TEST(RankPlacement, RanksOfOneJobHaveSomethingInCommon) {
  EXPECT_EQ(placement_in(torchrun()).job, placement_in(with(torchrun(), {{"RANK", "0"}})).job);
  EXPECT_NE(placement_in(torchrun()).job,
            placement_in(with(torchrun(), {{"TORCHELASTIC_RUN_ID", "b"}})).job);
  EXPECT_NE(placement_in(torchrun()).job,
            placement_in(with(torchrun(), {{"MASTER_PORT", "29405"}})).job);
  const Variables slurm{{"SLURM_PROCID", "0"},
                        {"SLURM_NTASKS", "2"},
                        {"SLURM_JOB_ID", "17"},
                        {"SLURM_STEP_ID", "0"},
                        {"MASTER_ADDR", "a"}};
  EXPECT_NE(placement_in(slurm).job, placement_in(with(slurm, {{"SLURM_STEP_ID", "1"}})).job);
}

TEST(RankPlacement, SlurmsFirstNodeIsWhereTheyMeet) {
  const RankPlacement found = placement_in({{"SLURM_PROCID", "1"},
                                            {"SLURM_NTASKS", "2"},
                                            {"SLURM_LOCALID", "0"},
                                            {"SLURM_STEP_NODELIST", "gpu[007-009,12]"}});
  EXPECT_EQ(found.meeting.host, "gpu007");
  EXPECT_EQ(found.launcher, "srun");
}

TEST(RankPlacement, RanksOfMpirunOnOneHostMeetThere) {
  const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(placement_in(open_mpi).meeting.host, "127.0.0.1");
  const auto elsewhere = find(with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}));
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().kind, ErrorKind::Usage);
  EXPECT_THAT(describe(elsewhere.error()), HasSubstr("mpirun -x MASTER_ADDR="));
  EXPECT_EQ(
      placement_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"MPI_LOCALNRANKS", "3"}}).meeting.host,
      "127.0.0.1");
}

TEST(RankPlacement, RanksOfOneHostAreCountedWhateverStartedThem) {
  EXPECT_EQ(placement_in(torchrun()).local_ranks, 1) << "nobody says";
  EXPECT_EQ(placement_in(with(torchrun(), {{"LOCAL_WORLD_SIZE", "2"}})).local_ranks, 2);
  const Variables here{{"MASTER_ADDR", "a"}};
  EXPECT_EQ(placement_in(with(here, {{"OMPI_COMM_WORLD_RANK", "1"},
                                     {"OMPI_COMM_WORLD_SIZE", "16"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}}))
                .local_ranks,
            8);
  EXPECT_EQ(
      placement_in(with(here, {{"PMI_RANK", "0"}, {"PMI_SIZE", "8"}, {"MPI_LOCALNRANKS", "4"}}))
          .local_ranks,
      4);
  EXPECT_EQ(placement_in(with(here, {{"SLURM_PROCID", "0"},
                                     {"SLURM_NTASKS", "11"},
                                     {"SLURM_STEP_TASKS_PER_NODE", "2(x3),5"}}))
                .local_ranks,
            5);
}

TEST(RankPlacement, NobodyIsNoRank) {
  const auto found = find({{"PATH", "/bin"}});
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST(RankPlacement, MistakesAreTold) {
  EXPECT_THAT(describe(find({{"RANK", "1"}}).error()), HasSubstr("set WORLD_SIZE"));
  EXPECT_THAT(describe(find(with(torchrun(), {{"RANK", "4"}})).error()), HasSubstr("rank 4 of 4"));
  for (const std::string port : {"0", "-1", "x", "70000", "65535", "29500 "}) {
    EXPECT_THAT(describe(find(with(torchrun(), {{"MASTER_PORT", port}})).error()),
                HasSubstr("MASTER_PORT="))
        << port;
  }
  EXPECT_FALSE(find(with(torchrun(), {{"MASTER_ADDR", ""}})));
}

TEST(RankPlacement, WhatAChokepointSetsItFindsAgain) {
  const control::Secret secret = control::random_secret();
  for (const std::string host : {"10.0.0.1", "fe80::1"}) {
    const RankPlacement given{.position = {.rank = 2, .ranks = 4, .local_rank = 0},
                              .launcher = "chokepoint",
                              .job = "0123456789abcdef",
                              .meeting = {host, 4711},
                              .secret = secret};
    Variables set = torchrun();
    for (const auto& [name, value] : variables_of(given)) {
      set[name] = value;
    }
    const RankPlacement found = placement_in(set);
    EXPECT_EQ(found.position.rank, 2);
    EXPECT_EQ(found.meeting.host, host);
    EXPECT_EQ(found.meeting.port, 4711);
    EXPECT_EQ(found.ports, 1);
    EXPECT_EQ(found.job, given.job);
    EXPECT_EQ(found.secret, secret);
    EXPECT_FALSE(found.leads());
  }
}

TEST(SlurmNodes, TheMostTasksOfAHost) {
  EXPECT_EQ(most_tasks("2(x3),5"), 5);
  EXPECT_EQ(most_tasks("8"), 8);
  for (const std::string_view odd : {"", "x", "-2", "0", "3x", "99999999999", "2,,"}) {
    EXPECT_EQ(most_tasks(odd), std::nullopt) << odd;
  }
}

}  // namespace
}  // namespace chokepoint::probe::collective
