#include "capture/stall/stack_taker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/base/record/record_folder.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::stall {
namespace {

using fakes::kSecond;
using record::RankDoes;

constexpr const char* kPrints =
    R"(echo '[{"pid":1,"thread_id":9,"thread_name":"MainThread","os_thread_id":'$5',"active":false,'
echo '"owns_gil":false,"frames":[{"name":"load","filename":"/a/train.py","module":null,'
echo '"short_filename":"train.py","line":41,"locals":null}],"process_info":null}]')";

// Ranks 3 and 4, by a py-spy that is first in PATH.
class StackTakerTest : public record::RecordFolder {
 protected:
  StackTakerTest() {
    std::filesystem::create_directory(programs_);
    setenv("PATH", fmt::format("{}:{}", programs_.string(), path_).c_str(), 1);
    for (const int pid : {17, 18}) {
      const std::string folder = fmt::format("/proc/{0}/task/{0}/", pid);
      tree_.write(folder + "stat", fmt::format("{} (py) S 1", pid));
      tree_.write(folder + "wchan", "futex_do_wait");
    }
    stall_.ranks = {{.rank = 3, .pid = 17, .does = RankDoes::Waits},
                    {.rank = 4, .pid = 18, .does = RankDoes::Absent}};
  }
  ~StackTakerTest() override { setenv("PATH", path_.c_str(), 1); }

  void is_py_spy(const std::string& script) const {
    const std::string path = programs_ / "py-spy";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), S_IRWXU);
  }
  void poll_for(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      taker_.poll(now_ns_);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::vector<record::Event> events() {
    writer_->close();
    record::Reader reader = open_reader();
    return reader.all<record::Event>().value();
  }

  const std::string path_ = getenv("PATH");
  const std::filesystem::path programs_ = folder_.path() / "programs";
  fakes::HostTree tree_ = fakes::HostTree::from_text("");
  sys::Root root_ = tree_.root();
  std::unique_ptr<record::Writer> writer_ = open_writer();
  record::Stall stall_;
  std::int64_t now_ns_ = 100 * kSecond;
  StackTaker taker_{root_, *writer_};
};

TEST_F(StackTakerTest, TheRankThatExplainsMostIsTakenFirst) {
  is_py_spy("echo \"$@\" >>" + (folder_.path() / "asked").string() + "\n" + kPrints);
  taker_.look(stall_, now_ns_);
  poll_for(std::chrono::seconds(1));
  std::ifstream asked(folder_.path() / "asked");
  std::string line;
  std::getline(asked, line);
  EXPECT_EQ(line, "dump --nonblocking --json --pid 18");
  const auto found = events();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, record::kStacks);
  EXPECT_EQ(found[0].subject, "rank 4");
  const record::Stacks stacks = record::stacks_in(found[0].detail).value();
  EXPECT_EQ(stacks.pid, 18);
  EXPECT_EQ(stacks.source, record::StackSource::PySpy);
  EXPECT_EQ(stacks.threads.at(0).waits_in, "futex_do_wait");
  EXPECT_EQ(record::place_of(stacks), "load (train.py:41)");
}

TEST_F(StackTakerTest, WhereItFailsTheKernelsWordsAreLeft) {
  is_py_spy("echo 'Error: Permission Denied' >&2; exit 1");
  taker_.look(stall_, now_ns_);
  poll_for(std::chrono::seconds(1));
  const auto found = events();
  ASSERT_EQ(found.size(), 2U);
  const record::Stacks stacks = record::stacks_in(found[0].detail).value();
  EXPECT_EQ(stacks.source, record::StackSource::Kernel);
  EXPECT_EQ(stacks.remark, "py-spy: Error: Permission Denied");
  EXPECT_EQ(record::place_of(stacks), "futex_do_wait (kernel)");
}

TEST_F(StackTakerTest, WithoutItTheKernelsWordsAreTakenAtOnce) {
  setenv("PATH", programs_.c_str(), 1);
  taker_.look(stall_, now_ns_);
  taker_.poll(now_ns_);
  taker_.poll(now_ns_);
  const auto found = events();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(record::stacks_in(found[0].detail)->remark, "");
}

TEST_F(StackTakerTest, OneThatTakesTooLongIsKilled) {
  is_py_spy("exec sleep 1000");
  stall_.ranks.pop_back();
  taker_.look(stall_, now_ns_);
  taker_.poll(now_ns_);
  now_ns_ += 5 * kSecond;
  poll_for(std::chrono::milliseconds(500));
  const auto found = events();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].t_ns, 100 * kSecond);
  EXPECT_EQ(record::stacks_in(found[0].detail)->remark, "py-spy took too long");
}

TEST_F(StackTakerTest, OneThatPrintsWithoutEndIsKilled) {
  is_py_spy("exec yes");
  stall_.ranks.pop_back();
  taker_.look(stall_, now_ns_);
  poll_for(std::chrono::seconds(2));
  const auto found = events();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(record::stacks_in(found[0].detail)->remark, "py-spy printed too much");
}

TEST_F(StackTakerTest, AStallHasFewLooksAndTheNextOneHasItsOwn) {
  setenv("PATH", programs_.c_str(), 1);
  stall_.ranks.pop_back();
  for (int second = 0; second < 600; second += 5) {
    taker_.look(stall_, now_ns_ + second * kSecond);
    taker_.poll(now_ns_ + second * kSecond);
  }
  taker_.end_stall();
  taker_.look(stall_, now_ns_ + 601 * kSecond);
  taker_.poll(now_ns_ + 601 * kSecond);
  EXPECT_EQ(events().size(), 4U);
}

TEST_F(StackTakerTest, OfAJobThatGoesOnNothingMoreIsTaken) {
  is_py_spy("exec sleep 1000");
  taker_.look(stall_, now_ns_);
  taker_.poll(now_ns_);
  taker_.end_stall();
  poll_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(events().empty());
}

}  // namespace
}  // namespace chokepoint::capture::stall
