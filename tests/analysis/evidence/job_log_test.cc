#include "analysis/evidence/job_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/evidence/failures.h"
#include "analysis/evidence/wait_graph.h"

namespace chokepoint::analysis {
namespace {

ToolFile log_file(std::string_view text, const std::string& name = "job.log") {
  const auto source = bytes_of(text);
  Result<ToolFile> file = read_job_log(*source, name);
  EXPECT_TRUE(file) << text;
  return file ? *std::move(file) : ToolFile{};
}

Claim first_of(std::string_view text) {
  const auto claims = claims_of_failures({log_file(text)});
  EXPECT_EQ(claims.size(), 1U) << text;
  return claims.empty() ? Claim{} : claims.front();
}

constexpr std::string_view kTable =
    "Traceback (most recent call last):\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "============================================================\n"
    "/tmp/job.py FAILED\n"
    "------------------------------------------------------------\n"
    "Failures:\n"
    "[1]:\n"
    "  time      : 2026-11-29_03:46:40\n"
    "  host      : node1\n"
    "  rank      : 1 (local_rank: 1)\n"
    "  exitcode  : -15 (pid: 14174)  (SIGTERM)\n"
    "  error_file: <N/A>\n"
    "  traceback : Signal 15 (SIGTERM) received by PID 14174\n"
    "[2]:\n"
    "  host      : node1\n"
    "  rank      : 2 (local_rank: 2)\n"
    "  exitcode  : -15 (pid: 14175)  (SIGTERM)\n"
    "------------------------------------------------------------\n"
    "Root Cause (first observed failure):\n"
    "[0]:\n"
    "  time      : 2026-11-29_03:46:40\n"
    "  host      : node0\n"
    "  rank      : 0 (local_rank: 0)\n"
    "  exitcode  : {} (pid: 14173) \n"
    "============================================================\n";

std::string table_with(std::string_view exit_code) {
  std::string text(kTable);
  return text.replace(text.find("{}"), 2, exit_code);
}

TEST(JobLog, TorchrunsTableHasHowEachRankEnded) {
  const ToolFile file = log_file(table_with("-9"));
  ASSERT_EQ(file.ends.size(), 3U);
  EXPECT_EQ(file.ends[2].rank, 0);
  EXPECT_EQ(file.ends[2].host, "node0");
  EXPECT_EQ(file.ends[2].exit_code, -9);
  EXPECT_EQ(file.ends[0].exit_code, -15);
}

TEST(JobLog, ARankThatWasKilledIsTheFirst) {
  const Claim claim = first_of(
      "[rank2]: RuntimeError: [./gloo/transport/tcp/pair.cc:538] Read error [10.0.0.1]:9607: "
      "Connection reset by peer\n" +
      table_with("-9"));
  EXPECT_EQ(claim.about, Claim::About::Failure);
  EXPECT_EQ(claim.rank, 0);
}

// torchrun calls the rank that gave up waiting the root cause.
TEST(JobLog, ARankThatTellsOfNothingWhileOthersWaitIsTheReason) {
  const Claim claim = first_of(
      "[rank0]: RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 6000ms "
      "for recv operation to complete\n"
      "[rank2]: RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:129] Timed out waiting "
      "6000ms "
      "for send operation to complete\n" +
      table_with("1"));
  EXPECT_EQ(claim.about, Claim::About::MissingRank);
  EXPECT_EQ(claim.rank, 1);
  EXPECT_TRUE(claim.is_firm);
}

TEST(JobLog, AnExceptionIsBeforeTheLostConnectionsThatFollow) {
  const Claim claim = first_of(
      "[rank0]: Traceback (most recent call last):\n"
      "[rank0]: RuntimeError: [./gloo/transport/tcp/pair.cc:547] Connection closed by peer "
      "[10.0.0.2]:18322\n"
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"/tmp/job.py\", line 14, in <module>\n"
      "[rank1]: ValueError: bad batch in shard 17\n");
  EXPECT_EQ(claim.rank, 1);
  EXPECT_NE(claim.what.find("bad batch in shard 17"), std::string::npos);
}

TEST(JobLog, TheEarlierOfTwoFailuresIsTheFirstWhereverItStands) {
  const Claim claim = first_of(
      "[rank3]:[E1129 12:34:57.100 Module.cpp:1] CUDA error: an illegal memory access was "
      "encountered\n"
      "[rank5]:[E1129 12:34:56.900 Module.cpp:1] CUDA error: uncorrectable ECC error "
      "encountered\n");
  EXPECT_EQ(claim.rank, 5);
}

TEST(JobLog, AWatchdogSaysHowFarItsRankHasCome) {
  const ToolFile file = log_file(
      "[rank1]:[E708 12:34:56.789 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=101, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
      "Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
      "[rank1]:[E708 12:34:56.790 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank "
      "1] "
      "failure detected by watchdog at work sequence id: 101 PG status: last enqueued work: 103, "
      "last completed work: 100\n");
  ASSERT_EQ(file.failures.size(), 1U);
  EXPECT_EQ(file.failures[0].kind, LogFailure::Kind::CollectiveTimeout);
  EXPECT_EQ(file.failures[0].in_year_ns % 60'000'000'000, 56'789'000'000);
  ASSERT_EQ(file.ranks.size(), 1U);
  const auto& states = file.ranks[0].states;
  ASSERT_TRUE(states.contains("default_pg"));
  EXPECT_EQ(states.at("default_pg").enqueued, 103);
  EXPECT_EQ(states.at("default_pg").completed, 100);
}

std::string reason_in_log(const std::string& text) {
  const ToolFile file = log_file(text);
  std::vector<RankState> ranks;
  for (const RankRecord& each : file.ranks) {
    ranks.push_back({.rank = *each.rank, .groups = &each.states});
  }
  return reason_of(ranks).sentence;
}

std::string timeout_of(int rank, int number) {
  return fmt::format(
      "[rank{0}]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank {0}] Watchdog caught "
      "collective operation timeout: WorkNCCL(SeqNum={1}, OpType=ALLREDUCE, NumelIn=4, "
      "NumelOut=4, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n",
      rank, number);
}

TEST(JobLog, WhoDoesNotTimeOutInACollectiveOfMostIsTheOneThatHasNotCome) {
  EXPECT_EQ(reason_in_log(timeout_of(0, 1580) + timeout_of(3, 1580) + timeout_of(2, 1580) +
                          "[rank1]: loading shard 17\n"),
            "rank 1 has not come to all_reduce 1580 of group default_pg; 3 others wait for it");
  EXPECT_EQ(reason_in_log(timeout_of(0, 1580) + timeout_of(1, 1580)),
            "ranks 0 and 1 are all in all_reduce 1580 of group default_pg, and none has ended it");
  // In a group of two of eight, most are not.
  EXPECT_EQ(reason_in_log(timeout_of(0, 7) + timeout_of(1, 7) + "[rank7]: step 12\n"),
            "ranks 0 and 1 are all in all_reduce 7 of group default_pg, and none has ended it");
}

TEST(JobLog, AnOlderWatchdogNamesItsGroupInALineOfItsOwn) {
  const ToolFile file = log_file(
      timeout_of(0, 1580) +
      "[rank0]:[E321 02:07:08.465150152 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 0] Exception (either "
      "an error or timeout) detected by watchdog at work: 1580, last enqueued NCCL work: 1582, "
      "last completed NCCL work: 1579.\n");
  ASSERT_EQ(file.ranks.size(), 1U);
  ASSERT_EQ(file.ranks[0].states.size(), 1U);
  const auto& [name, state] = *file.ranks[0].states.begin();
  EXPECT_EQ(name, "1");
  EXPECT_EQ(state.enqueued, 1582);
  EXPECT_TRUE(state.calls.contains(1580));
}

TEST(JobLog, RanksStandBeforeLinesInSeveralForms) {
  for (const std::string_view line :
       {"[rank7]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "[default7]:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        " 7: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."}) {
    const ToolFile file = log_file(line);
    ASSERT_EQ(file.failures.size(), 1U);
    EXPECT_EQ(file.failures[0].rank, 7) << line;
    EXPECT_EQ(file.failures[0].kind, LogFailure::Kind::GpuMemory);
  }
  EXPECT_EQ(log_file("oom-kill event", "out-rank-3.log").failures[0].rank, 3);
}

TEST(JobLog, ALaunchersLineSaysWhichLocalRankEnded) {
  const Claim claim = first_of(
      "W1106 04:43:02.065000 26021 api.py:897] Sending process 26024 closing signal SIGTERM\n"
      "E1106 04:43:02.651000 26021 api.py:869] failed (exitcode: -6) local_rank: 3 (pid: 26026) of "
      "binary: /usr/bin/python\n");
  EXPECT_EQ(claim.what, "local rank 3 ended first, by signal 6");
}

TEST(JobLog, ALoadersWorkerThatWasKilledIsTheReason) {
  const Claim claim = first_of(
      "1: RuntimeError: DataLoader worker (pid 19) is killed by signal: Killed.\n"
      "0: RuntimeError: Connection closed by peer [10.0.0.2]:18322\n");
  EXPECT_EQ(claim.rank, 1);
}

TEST(JobLog, WhereOnlyConnectionsBrokeThePeerIsNamed) {
  for (const std::string_view line :
       {"[rank5]: socketProgressOpt: Call to recv from 10.0.0.53<49901> failed : Broken pipe",
        "gpu2:1:2 [0] ib.c:1105 NCCL WARN NET/IB : Got completion from peer 10.0.0.53<49189> with "
        "error 12, opcode 5327, len 5327, vendor err 129 (Send)",
        "gpu2:1:2 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer "
        "10.0.0.53<55693>"}) {
    EXPECT_NE(first_of(line).what.find("lost its connection to 10.0.0.53:"), std::string::npos)
        << first_of(line).what;
  }
}

TEST(JobLog, WhatTellsOfNoFailureIsRefused) {
  for (const std::string_view text :
       {"", "\n\n", "epoch 1 loss 0.5\n", "Traceback (most recent call last):\n", "Failures:\n"}) {
    const auto source = bytes_of(text);
    EXPECT_FALSE(read_job_log(*source, "job.log")) << text;
  }
}

TEST(JobLog, BrokenTablesAndNumbersAreReadAsFarAsTheyGo) {
  const ToolFile file = log_file(
      "Failures:\n"
      "[0]:\n"
      "  rank      : 99999999999999999999 (local_rank: 0)\n"
      "  exitcode  : x\n"
      "[1]:\n"
      "  rank      :\n"
      "  exitcode\n"
      "[E9999 99:99:99 CUDA error: x\n");
  EXPECT_EQ(file.ends.size(), 2U);
  EXPECT_EQ(file.ends[0].rank, -1);
}

}  // namespace
}  // namespace chokepoint::analysis
