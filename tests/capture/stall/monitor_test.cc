#include "capture/stall/monitor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/record/names.h"
#include "tests/base/record/record_folder.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::stall {
namespace {

using fakes::kSecond;
using record::RankDoes;
using record::StallState;

// One rank, whose steps take 100 ms and end with the last progress.
class MonitorTest : public record::RecordFolder {
 protected:
  static constexpr std::int64_t kProgressNs = 100 * kSecond;

  // Without any program that looks at the process 17 of this host.
  MonitorTest() {
    setenv("PATH", "/nowhere", 1);
    does('S', "futex_do_wait");
  }
  ~MonitorTest() override { setenv("PATH", path_.c_str(), 1); }

  void does(char state, const std::string& waits_in, std::uint64_t ticks = 0) const {
    tree_.write(
        "/proc/17/stat",
        fmt::format("17 (py) {} 1 1 1 0 -1 0 0 0 0 0 {} 0 0 0 20 0 1 0 7 0 0", state, ticks));
    tree_.write("/proc/17/wchan", waits_in);
    tree_.write("/proc/17/io", "rchar: 0\n");
    tree_.write("/proc/17/status", "voluntary_ctxt_switches: 1\n");
  }
  void poll(std::int64_t now_ns) {
    monitor_.poll({.now_ns = now_ns,
                   .steps = steps_,
                   .usual_ms = 100,
                   .newest_step_ns = progress_ns_,
                   .processes = processes_,
                   .silent = silent_});
  }
  // Some times a second, from the last progress on.
  void pause(int seconds) {
    for (std::int64_t now_ns = progress_ns_; now_ns <= progress_ns_ + seconds * kSecond;
         now_ns += kSecond / 4) {
      poll(now_ns);
    }
  }
  void is_open(record::CollectiveKind kind, std::int64_t number, bool is_own, bool is_peer) {
    record::Collective row{.start_ns = progress_ns_ + 1,
                           .end_ns = progress_ns_ + 2,
                           .merged = 0,
                           .number = number,
                           .kind = kind};
    row.flow = 5;
    if (is_own) {
      row.own_ready_ns = progress_ns_ + 1;
    }
    if (is_peer) {
      row.peer_ready_ns = progress_ns_ + 2;
    }
    monitor_.note_waiting(row, 1);
  }
  std::vector<record::Stall> events() {
    writer_->close();
    record::Reader reader = open_reader();
    std::vector<record::Stall> found;
    const std::vector<record::Event> rows = reader.all<record::Event>().value();
    for (const record::Event& event : rows) {
      if (event.kind == record::kStacks) {
        stacks_.push_back(record::stacks_in(event.detail).value());
        continue;
      }
      EXPECT_EQ(event.kind, record::kStall);
      found.push_back(record::stall_in(event.detail).value());
    }
    return found;
  }

  const std::string path_ = getenv("PATH");
  fakes::HostTree tree_ = fakes::HostTree::from_text("");
  std::unique_ptr<record::Writer> writer_ = open_writer();
  sys::Root root_ = tree_.root();
  std::int64_t steps_ = 50;
  std::int64_t progress_ns_ = kProgressNs;
  job::JobProcesses processes_{{.pid = 17, .parent = 1, .rank = {.rank = 3}, .record_id = 1}};
  std::vector<socket::Silent> silent_;
  std::vector<record::Stacks> stacks_;  // in the record, once events() has read it
  Monitor monitor_{
      {.hook = fmt::format("echo \"$CHOKEPOINT_STALL, $CHOKEPOINT_STALL_PIDS\" >{}/told",
                           folder().string()),
       .takes_stacks = true},
      root_,
      *writer_};
};

TEST_F(MonitorTest, OfAJobThatGoesOnNothingIsWritten) {
  pause(9);
  progress_ns_ += 9 * kSecond;
  pause(9);
  EXPECT_EQ(monitor_.figures().state, StallState::Over);
  EXPECT_TRUE(events().empty());
}

TEST_F(MonitorTest, ARankThatIsStoppedStandsAtTheLimit) {
  does('T', "0");
  pause(11);
  EXPECT_EQ(monitor_.figures().state, StallState::Stands);
  EXPECT_EQ(monitor_.figures().what, "rank 3 is stopped");
  const auto found = events();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].since_ns, kProgressNs);
  EXPECT_EQ(found[0].ranks.at(0).does, RankDoes::Stopped);
}

// Without py-spy what the kernel says.
TEST_F(MonitorTest, StacksAreTakenWhereRanksWaitAndNotWhereTheyWork) {
  does('T', "0");
  tree_.write("/proc/17/task/17/wchan", "do_signal_stop");
  pause(12);
  events();
  ASSERT_EQ(stacks_.size(), 1U);
  EXPECT_EQ(stacks_[0].rank, 3);
  EXPECT_EQ(record::place_of(stacks_[0]), "do_signal_stop (kernel)");
}

TEST_F(MonitorTest, AStallIsOverWithTheNextStep) {
  does('T', "0");
  pause(11);
  progress_ns_ += 12 * kSecond;
  poll(progress_ns_);
  EXPECT_EQ(monitor_.figures().state, StallState::Over);
  const auto found = events();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].state, StallState::Over);
}

// Of a rank in several groups, the last part of one may be given up only 30 s later.
TEST_F(MonitorTest, ACollectiveOfBeforeThatIsFoundLateIsNoProgress) {
  is_open(record::CollectiveKind::AllReduce, 12, false, true);
  pause(29);
  monitor_.note_over({.start_ns = kProgressNs, .end_ns = kProgressNs + kSecond / 20, .merged = 1});
  for (int at = 30; at <= 41; ++at) {
    poll(kProgressNs + at * kSecond);
  }
  const auto found = events();
  ASSERT_GE(found.size(), 3U);
  EXPECT_EQ(found.back().since_ns, kProgressNs + kSecond / 20);
  EXPECT_EQ(found.back().state, StallState::Stands);
  EXPECT_EQ(found.back().ranks.at(0).does, RankDoes::Absent);
}

TEST_F(MonitorTest, ACollectiveThatEndsIsProgress) {
  does('T', "0");
  pause(9);
  monitor_.note_over({.start_ns = kProgressNs, .end_ns = kProgressNs + 8 * kSecond});
  poll(kProgressNs + 12 * kSecond);
  EXPECT_EQ(monitor_.figures().state, StallState::Over);
}

// It may be an evaluation of rank 0, elsewhere.
TEST_F(MonitorTest, ARankThatWaitsForOthersStandsOnlyAfterALongTime) {
  is_open(record::CollectiveKind::AllReduce, 641, true, false);
  pause(59);
  EXPECT_EQ(monitor_.figures().state, StallState::Waits);
  EXPECT_EQ(monitor_.figures().what, "rank 3 waits for others in all-reduce 641");
  pause(61);
  EXPECT_EQ(monitor_.figures().state, StallState::Stands);
}

TEST_F(MonitorTest, ARankThatOthersWaitForIsAbsent) {
  is_open(record::CollectiveKind::AllReduce, 641, false, true);
  pause(11);
  EXPECT_EQ(monitor_.figures().state, StallState::Stands);
  EXPECT_EQ(monitor_.figures().what, "rank 3 has not come to all-reduce 641");
}

TEST_F(MonitorTest, RanksInTwoCollectivesDiffer) {
  is_open(record::CollectiveKind::Broadcast, 641, true, false);
  is_open(record::CollectiveKind::AllReduce, 641, false, true);
  pause(11);
  EXPECT_EQ(monitor_.figures().what,
            "rank 3 is in broadcast 641, its neighbour in another collective");
}

// An evaluation without a call looks like an endless loop.
TEST_F(MonitorTest, AnEndlessLoopStandsOnlyAfterALongTime) {
  is_open(record::CollectiveKind::AllReduce, 641, false, true);
  const auto spin = [&](std::int64_t from, std::int64_t until) {
    for (std::int64_t passed = from; passed <= until; ++passed) {
      does('R', "0", static_cast<std::uint64_t>(passed) * 25);
      poll(kProgressNs + passed * kSecond / 4);
    }
  };
  spin(0, 239);
  EXPECT_EQ(monitor_.figures().state, StallState::Moves);
  spin(240, 248);
  EXPECT_EQ(monitor_.figures().state, StallState::Stands);
  EXPECT_EQ(monitor_.figures().what, "rank 3 fills a core and does not communicate");
}

TEST_F(MonitorTest, APathThatDoesNotAnswerStands) {
  silent_.push_back({.peer = {.words = {0, 0x0a000002}},
                     .flow = 5,
                     .since_ns = kProgressNs,
                     .unacked_packets = 3,
                     .resent_packets = 4});
  pause(11);
  EXPECT_EQ(monitor_.figures().state, StallState::Stands);
  const auto found = events();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].paths.at(0).resent_packets, 4);
}

TEST_F(MonitorTest, TheHookIsToldWhy) {
  does('T', "0");
  pause(11);
  std::string text;
  for (int tries = 0; text.empty() && tries < 500; ++tries) {
    std::ifstream report(folder() / "told");
    std::getline(report, text);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(text, "rank 3 is stopped, 17");
}

}  // namespace
}  // namespace chokepoint::capture::stall
