#include "capture/job/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/record/reader.h"
#include "tests/capture/job/job_host.h"

namespace chokepoint::capture::job {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::string_literals;

constexpr pid_t kCommand = 100;
constexpr pid_t kOurselves = 50;
constexpr pid_t kRelay = 51;

Selection of_command() {
  return {.pid = kCommand, .adopter = kOurselves, .not_the_jobs = {kRelay}};
}

std::vector<pid_t> pids_of(const Roster& roster) {
  std::vector<pid_t> pids;
  for (const JobProcess& process : *roster.processes()) {
    pids.push_back(process.pid);
  }
  return pids;
}

JobProcess find(const Roster& roster, pid_t pid) {
  for (const JobProcess& process : *roster.processes()) {
    if (process.pid == pid) {
      return process;
    }
  }
  return {};
}

class RosterTest : public testing::Test {
 protected:
  RosterTest() {
    host_.put({.pid = kOurselves, .parent = 1});
    host_.put({.pid = kRelay, .parent = kOurselves});
    host_.put({.pid = kCommand, .parent = kOurselves});
  }
  std::vector<pid_t> look() {
    roster_.refresh(++now_ns_);
    return pids_of(roster_);
  }

  JobHost host_;
  Roster roster_{host_.root(), of_command(), nullptr};
  std::int64_t now_ns_ = 0;
};

TEST_F(RosterTest, HasTheCommandAndAllBelowItWhateverTheOrderOfTheirNumbers) {
  EXPECT_THAT(pids_of(roster_), IsEmpty());
  host_.put({.pid = 30, .parent = 120});  // numbers begin anew at some time
  host_.put({.pid = 120, .parent = kCommand});
  host_.put({.pid = 130, .parent = 1});
  EXPECT_THAT(look(), ElementsAre(30, kCommand, 120));
}

// Its parent is outside of the namespace.
TEST(ContainersRoster, HasTheFirstProcessOfAPidNamespace) {
  JobHost host;
  host.put({.pid = 1, .parent = 0});
  host.put({.pid = 7, .parent = 0});
  host.put({.pid = 8, .parent = 7});
  Roster roster(host.root(), {.pid = 7}, nullptr);
  roster.refresh(1);
  EXPECT_THAT(pids_of(roster), ElementsAre(7, 8));
}

TEST_F(RosterTest, ARelayThatTookAnothersPlaceIsNotTheJobs) {
  host_.put({.pid = 52, .parent = kOurselves, .name = "job-output"});
  host_.put({.pid = 120, .parent = kCommand, .name = "job-output"});
  EXPECT_THAT(look(), ElementsAre(kCommand, 120));
}

TEST_F(RosterTest, WhoComesLaterIsFoundAndWhoGoesIsGone) {
  look();
  host_.put({.pid = 120, .parent = kCommand});
  EXPECT_THAT(look(), ElementsAre(kCommand, 120));
  host_.end(120);
  EXPECT_THAT(look(), ElementsAre(kCommand));
}

TEST_F(RosterTest, WhoWasSeenInTheMiddleOfAnExecIsReadAgain) {
  host_.put({.pid = kCommand, .parent = kOurselves, .command = "", .environment = ""});
  host_.tree().write("/proc/100/cmdline", "");
  look();
  EXPECT_EQ(find(roster_, kCommand).command, "[python3]");
  host_.put({.pid = kCommand, .parent = kOurselves, .environment = "RANK=1"});
  look();
  EXPECT_EQ(find(roster_, kCommand).command, "train.py");
  EXPECT_EQ(find(roster_, kCommand).rank.rank, 1);
}

// Its memory is gone a moment before it is a zombie.
TEST_F(RosterTest, WhoIsAboutToEndKeepsItsCommandAndItsRank) {
  host_.put({.pid = kCommand, .parent = kOurselves, .environment = "RANK=1"});
  look();
  host_.put({.pid = kCommand, .parent = kOurselves, .program = 0});
  host_.tree().write("/proc/100/cmdline", "");
  host_.tree().write("/proc/100/environ", "");
  look();
  EXPECT_EQ(find(roster_, kCommand).command, "train.py");
  EXPECT_EQ(find(roster_, kCommand).rank.rank, 1);
}

TEST_F(RosterTest, WhoWasSeenInTheMiddleOfALaterExecIsReadAgain) {
  look();
  host_.put({.pid = kCommand, .parent = kOurselves, .program = 2});
  host_.tree().write("/proc/100/cmdline", "");
  look();
  EXPECT_EQ(find(roster_, kCommand).command, "train.py");
  host_.put({.pid = kCommand, .parent = kOurselves, .program = 2, .command = "other.py"});
  look();
  EXPECT_EQ(find(roster_, kCommand).command, "other.py");
}

TEST_F(RosterTest, AZombieIsOverAndDoesNotComeBack) {
  host_.put({.pid = 120, .parent = kCommand});
  look();
  host_.put({.pid = 120, .parent = kCommand, .state = 'Z'});
  EXPECT_THAT(look(), ElementsAre(kCommand));
  EXPECT_THAT(look(), ElementsAre(kCommand));
}

TEST_F(RosterTest, WhoLeftItsParentStaysAndSoDoItsChildren) {
  host_.put({.pid = 120, .parent = kCommand});
  look();
  host_.end(kCommand);
  host_.put({.pid = 120, .parent = kOurselves});
  host_.put({.pid = 121, .parent = 120});
  EXPECT_THAT(look(), ElementsAre(120, 121));
}

TEST_F(RosterTest, AnOrphanWhoseParentWasNeverSeenIsOurs) {
  look();
  host_.put({.pid = 140, .parent = kOurselves});
  EXPECT_THAT(look(), ElementsAre(kCommand, 140));
}

TEST_F(RosterTest, AParentThatEndedBetweenTwoLooksAtItLosesNobody) {
  look();
  host_.put({.pid = 140, .parent = 139});  // 139 was gone when its turn came
  EXPECT_THAT(look(), ElementsAre(kCommand));
  host_.put({.pid = 140, .parent = kOurselves});
  EXPECT_THAT(look(), ElementsAre(kCommand, 140));
}

TEST_F(RosterTest, ANumberThatIsUsedAgainIsAnotherProcess) {
  host_.put({.pid = 120, .parent = kCommand, .start_ticks = 1000});
  look();
  host_.put({.pid = 120, .parent = 1, .start_ticks = 2000});
  EXPECT_THAT(look(), ElementsAre(kCommand)) << "a stranger's now";
  host_.put({.pid = 120, .parent = kCommand, .start_ticks = 3000});
  host_.end(120);
  look();
  host_.put({.pid = 120, .parent = kCommand, .start_ticks = 3000});
  EXPECT_THAT(look(), ElementsAre(kCommand, 120));
}

TEST_F(RosterTest, ReadsAgainWhatAnExecChanged) {
  host_.put({.pid = 120, .parent = kCommand, .command = "torchrun\0train.py"s});
  look();
  EXPECT_EQ(find(roster_, 120).command, "torchrun train.py");
  EXPECT_EQ(find(roster_, 120).rank, Rank{});
  host_.put({.pid = 120,
             .parent = kCommand,
             .program = 2,
             .command = "python3\0-u\0two words.py"s,
             .environment = "RANK=1\0LOCAL_RANK=1\0WORLD_SIZE=2"s});
  look();
  EXPECT_EQ(find(roster_, 120).command, "python3 -u 'two words.py'");
  EXPECT_EQ(find(roster_, 120).rank, (Rank{.rank = 1, .local_rank = 1, .world_size = 2}));
}

TEST_F(RosterTest, MasksSecretsUnlessTheyAreToBeKept) {
  host_.put({.pid = 120, .parent = kCommand, .command = "train.py\0--hf-token\0abc"s});
  look();
  EXPECT_EQ(find(roster_, 120).command, "train.py --hf-token '***'");
  Roster keeping(host_.root(), of_command(), nullptr, true);
  keeping.refresh(++now_ns_);
  EXPECT_EQ(find(keeping, 120).command, "train.py --hf-token abc");
}

TEST_F(RosterTest, ALauncherIsNoRank) {
  host_.put({.pid = 120, .parent = kCommand, .environment = "SLURM_PROCID=1"});
  look();
  EXPECT_EQ(find(roster_, 120).rank.rank, 1);
  host_.put({.pid = 121, .parent = 120, .environment = "SLURM_PROCID=1\0RANK=3"s});
  look();
  EXPECT_EQ(find(roster_, 121).rank.rank, 3);
  EXPECT_EQ(find(roster_, 120).rank.rank, std::nullopt);
}

TEST_F(RosterTest, ALongCommandIsCutAtALetter) {
  std::string umlauts = "x";
  for (int i = 0; i < 3000; ++i) {
    umlauts += "ö";
  }
  host_.put({.pid = 120, .parent = kCommand, .command = umlauts});
  look();
  const std::string command = find(roster_, 120).command;
  EXPECT_LT(command.size(), 600U);
  EXPECT_TRUE(command.ends_with("ö…")) << command;
}

TEST_F(RosterTest, StartsAreToldByTheMonotonicClock) {
  host_.tree().write("/proc/uptime", "110.00 1.0\n");
  host_.put({.pid = 120, .parent = kCommand, .start_ticks = 10'900});
  Roster roster(host_.root(), of_command(), nullptr);
  roster.refresh(100'000'000'000);  // it was suspended for ten seconds
  EXPECT_EQ(find(roster, 120).start_ns, 99'000'000'000);
}

TEST_F(RosterTest, NetworkNamespacesAreTold) {
  host_.tree().link("/proc/100/ns/net", "net:[4026531840]");
  look();
  EXPECT_EQ(find(roster_, kCommand).network, 4026531840U);
}

TEST_F(RosterTest, OfACgroupIsWhoeverIsInIt) {
  host_.put({.pid = 120, .parent = 1});
  host_.put({.pid = 121, .parent = 120});
  host_.tree().write("/sys/fs/cgroup/job/cgroup.procs", "100\n120\n");
  Roster roster(host_.root(), {.cgroup = "/job"}, nullptr);
  roster.refresh(1);
  EXPECT_THAT(pids_of(roster), ElementsAre(kCommand, 120));
  host_.tree().write("/sys/fs/cgroup/job/cgroup.procs", "120\n121\n");
  roster.refresh(2);
  EXPECT_THAT(pids_of(roster), ElementsAre(120, 121));
}

class RecordedRosterTest : public testing::Test {
 protected:
  RecordedRosterTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("chokepoint-roster-" + std::to_string(getpid()))) {
    host_.put({.pid = kOurselves, .parent = 1});
    host_.put({.pid = kCommand, .parent = kOurselves});
    auto opened =
        record::Writer::open({.folder = folder_, .node = "a", .role = "run"}, host_.root(), clock_);
    writer_ = std::move(opened.value());
    roster_ = std::make_unique<Roster>(host_.root(), of_command(), writer_.get());
  }
  ~RecordedRosterTest() override { std::filesystem::remove_all(folder_); }

  record::Process row_of(pid_t pid) {
    writer_->close(0);
    Result<record::Reader> reader = record::Reader::open(writer_->path());
    const std::vector<record::Process> rows = reader->all<record::Process>().value();
    for (const record::Process& row : rows) {
      if (row.pid == pid) {
        return row;
      }
    }
    return {};
  }

  std::filesystem::path folder_;
  JobHost host_;
  sys::SystemClock clock_;
  std::unique_ptr<record::Writer> writer_;
  std::unique_ptr<Roster> roster_;
};

TEST_F(RecordedRosterTest, EachGetsOneRowWithItsBeginAndItsEnd) {
  host_.put({.pid = 120, .parent = kCommand, .start_ticks = 500, .environment = "RANK=2"});
  roster_->refresh(6'000'000'000);
  EXPECT_GT(find(*roster_, 120).record_id, 0);
  host_.put({.pid = 120, .parent = kCommand, .start_ticks = 500, .program = 2, .command = "later"});
  roster_->refresh(7'000'000'000);
  host_.put({.pid = 120, .parent = kCommand, .start_ticks = 500, .state = 'Z', .wait_status = 9});
  roster_->refresh(8'000'000'000);
  roster_->refresh(9'000'000'000);
  const record::Process row = row_of(120);
  EXPECT_EQ(row.command, "later");
  EXPECT_EQ(row.parent_pid.value(), kCommand);
  EXPECT_EQ(row.start_ns.value(), 5'000'000'000);
  EXPECT_EQ(row.end_ns.value(), 8'000'000'000);
  EXPECT_EQ(row.exit_status.value(), 128 + 9);
}

TEST_F(RecordedRosterTest, WhatTheRanksWereToldIsKeptOnceAndNothingElseOfTheirEnvironment) {
  const std::string environment = "RANK=1\0MASTER_ADDR=fd00::1\0TP_SOCKET_IFNAME=eth0\0SECRET=x"s;
  for (const pid_t pid : {120, 121}) {
    host_.put({.pid = pid, .parent = kCommand, .environment = environment});
  }
  roster_->refresh(1);
  roster_->refresh(2);
  writer_->close(0);
  std::vector<std::string> kept;
  Result<record::Reader> reader = record::Reader::open(writer_->path());
  const std::vector<record::Fact> facts = reader->all<record::Fact>().value();
  for (const record::Fact& fact : facts) {
    if (fact.category == "environment" && fact.subject == "ranks") {
      kept.push_back(fact.key + "=" + fact.value);
    }
  }
  EXPECT_THAT(kept, ElementsAre("MASTER_ADDR=fd00::1", "TP_SOCKET_IFNAME=eth0"));
}

TEST_F(RecordedRosterTest, HowTheCommandEndedIsTold) {
  roster_->refresh(1);
  host_.end(kCommand);
  roster_->refresh(2);
  roster_->note_end({.code = 7}, 3);
  const record::Process row = row_of(kCommand);
  EXPECT_EQ(row.exit_status.value(), 7);
  EXPECT_EQ(row.end_ns.value(), 3);
}

TEST_F(RecordedRosterTest, ACommandThatHasEndedBeforeTheFirstLookHasItsRow) {
  host_.put({.pid = kCommand, .parent = kOurselves, .program = 0, .state = 'Z', .command = ""});
  roster_->refresh(1);
  host_.end(kCommand);
  roster_->refresh(2);
  roster_->note_end({.code = 5}, 3);
  EXPECT_EQ(row_of(kCommand).exit_status.value(), 5);
}

}  // namespace
}  // namespace chokepoint::capture::job
