// The process that watches is stopped by SIGSTOP where a disk that does not answer would hold it:
// neither takes signals, messages, or time into account.
#include "capture/run/watch_process.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/sys/signals.h"
#include "tests/base/record/record_folder.h"
#include "tests/capture/job/job_host.h"

namespace chokepoint::capture::run {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const auto kLong = net::Deadline::of(60s);

class PlainScreen final : public Screen {
 public:
  void note_output(const job::OutputPiece& piece) override { text_ += piece.bytes; }
  void show(const live::Figures&, std::int64_t) override {}
  void warn(const std::string& text) override { text_ += "warning: " + text + "\n"; }
  void note(const std::string& text) override { text_ += "note: " + text + "\n"; }
  void sum_up(const live::Figures& figures, const std::string&,
              const record::WriterStatus&) override {
    text_ += "watched: " + figures.node + "\n";
  }
  std::string take_text() override { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

class WatchProcessTest : public record::RecordFolder {
 protected:
  void SetUp() override {
    job_.put({.pid = 4711});
    job_.tree().write("/proc/sys/kernel/hostname", "alpha\n");
    job_.tree().write("/proc/sys/kernel/osrelease", "6.1.0\n");
    job_.tree().write("/proc/sys/kernel/random/boot_id", "boot-1\n");
    std::filesystem::create_directory(folder_.path() / "runtime");
  }
  void TearDown() override {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Options made() const {
    return {.place = {.folder = folder()},
            .node = "n1",
            .command = {"train.py"},
            .packets = false,
            .runtime_folder = folder_.path() / "runtime",
            .nccl = false};
  }
  WatchProcess started(const Options& options,
                       std::chrono::milliseconds open_timeout = kOpenTimeout) {
    auto process = WatchProcess::start(
        options, screen_, root_, real_clock_,
        [this](std::string_view text) { reported_choices_ += text; }, open_timeout);
    EXPECT_TRUE(process);
    pid_ = process->pid();
    return std::move(*process);
  }
  record::Session session() { return (*open_reader().all<record::Session>())[0]; }

  job::JobHost job_;
  sys::Root root_ = job_.root();
  sys::SystemClock real_clock_;
  PlainScreen screen_;
  std::string reported_choices_;
  pid_t pid_ = -1;
};

TEST_F(WatchProcessTest, WatchesAndSaysSo) {
  WatchProcess watch = started(made());
  const auto variables = watch.opened();
  ASSERT_TRUE(variables) << describe(variables.error());
  EXPECT_EQ(variables->size(), 2U) << "the marks' socket, the run's folder";
  watch.begin({.pid = 4711});
  watch.take_output({.t_ns = 1, .bytes = "trained\n"});
  const Result<> ended = watch.end(42, kLong);
  ASSERT_TRUE(ended) << describe(ended.error());
  EXPECT_EQ(reported_choices_, "trained\nwatched: n1\n");
  EXPECT_EQ(session().exit_status, 42);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "runtime"));
}

TEST_F(WatchProcessTest, AJobThatIsNotThereLeavesNoRecord) {
  WatchProcess watch = started(made());
  ASSERT_TRUE(watch.opened());
  EXPECT_TRUE(watch.abandon(127, kLong));
  EXPECT_FALSE(std::filesystem::exists(made().place.folder));
}

TEST_F(WatchProcessTest, AnErrorArrivesAsItIs) {
  std::ofstream(folder_.path() / "file") << "no folder";
  Options options = made();
  options.place.folder = folder_.path() / "file" / "run";
  WatchProcess watch = started(options);
  const auto variables = watch.opened();
  ASSERT_FALSE(variables);
  EXPECT_EQ(variables.error().code, ENOTDIR);
  EXPECT_EQ(variables.error().subject, options.place.folder);
  EXPECT_THAT(variables.error().next_step, HasSubstr("give a folder"));
}

TEST_F(WatchProcessTest, AFolderThatDoesNotAnswerIsNotWaitedFor) {
  WatchProcess watch = started(made(), 100ms);
  kill(pid_, SIGSTOP);
  // It may have opened everything before it was stopped.
  if (const auto variables = watch.opened(); !variables) {
    EXPECT_EQ(variables.error().kind, ErrorKind::Timeout);
    EXPECT_EQ(watch.descriptor(), -1);
  }
}

TEST_F(WatchProcessTest, ARecordThatDoesNotCloseIsNotWaitedFor) {
  WatchProcess watch = started(made());
  ASSERT_TRUE(watch.opened());
  watch.begin({.pid = 4711});
  kill(pid_, SIGSTOP);
  const Result<> ended = watch.end(0, net::Deadline::of(100ms));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::Timeout);
  // Once its disk answers the record gets its end after all.
  kill(pid_, SIGCONT);
  waitpid(pid_, nullptr, 0);
  EXPECT_EQ(session().exit_status, 0);
}

TEST_F(WatchProcessTest, ASignalEndsTheWaitForTheRecord) {
  WatchProcess watch = started(made());
  ASSERT_TRUE(watch.opened());
  watch.begin({.pid = 4711});
  kill(pid_, SIGSTOP);
  const auto signals = sys::Signals::watch({SIGTERM});
  ASSERT_TRUE(signals);
  raise(SIGTERM);
  const Result<> ended = watch.end(0, net::Deadline::of(10min, signals->descriptor()));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::Interrupted);
}

TEST_F(WatchProcessTest, OutputIsDroppedIfNobodyTakesIt) {
  WatchProcess watch = started(made());
  ASSERT_TRUE(watch.opened());
  kill(pid_, SIGSTOP);
  const std::string line(4'096, 'x');
  for (int i = 0; i < 10'000; ++i) {
    watch.take_output({.t_ns = i, .bytes = line});
  }
  EXPECT_FALSE(watch.end(0, net::Deadline::of(100ms)));
}

TEST_F(WatchProcessTest, AWatchThatIsKilledIsNoticed) {
  WatchProcess watch = started(made());
  ASSERT_TRUE(watch.opened());
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  watch.receive();
  EXPECT_EQ(watch.descriptor(), -1);
  const Result<> ended = watch.end(0, kLong);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::Io);
}

TEST_F(WatchProcessTest, EndsWithChokepoint) {
  {
    WatchProcess watch = started(made());
    ASSERT_TRUE(watch.opened());
    watch.begin({.pid = 4711});
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  EXPECT_TRUE(WIFEXITED(status));
}

}  // namespace
}  // namespace chokepoint::capture::run
