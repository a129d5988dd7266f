#include "base/sys/child_output.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <tuple>

namespace chokepoint::sys {
namespace {

struct RunningShell {
  explicit RunningShell(const std::string& script, ChildStreams streams = ChildStreams::Apart)
      : child(*start_child({.command = {"sh", "-c", script}}, "test", streams)) {}
  ~RunningShell() {
    std::ignore = child.process.signal(SIGKILL);
    std::ignore = child.process.wait();
  }
  RunningShell(const RunningShell&) = delete;
  RunningShell& operator=(const RunningShell&) = delete;

  void wait() {
    std::array<pollfd, 2> watched{pollfd{child.out.descriptor(), POLLIN, 0},
                                  pollfd{child.err.descriptor(), POLLIN, 0}};
    poll(watched.data(), watched.size(), 20'000);
  }

  ChildOutput child;
};

TEST(ChildOutput, StreamsAreReadApart) {
  RunningShell shell("echo out; echo err >&2");
  std::string out;
  std::string err;
  while (shell.child.out.descriptor() >= 0 || shell.child.err.descriptor() >= 0) {
    shell.wait();
    shell.child.out.take(out, 100);
    shell.child.err.take_last(err);
  }
  EXPECT_EQ(out, "out\n");
  EXPECT_EQ(err, "err\n");
}

TEST(ChildOutput, StreamsThatAreJoinedStayInOrder) {
  RunningShell shell("echo 1; echo 2 >&2; echo 3", ChildStreams::Joined);
  std::string out;
  while (shell.child.out.descriptor() >= 0) {
    shell.wait();
    shell.child.out.take(out, 100);
  }
  EXPECT_EQ(out, "1\n2\n3\n");
}

TEST(ChildOutput, IsNotWaitedFor) {
  RunningShell shell("sleep 100");
  std::array<char, 10> piece{};
  EXPECT_EQ(shell.child.out.read(piece), std::nullopt);
  EXPECT_GE(shell.child.out.descriptor(), 0);
}

TEST(ChildOutput, OfAFloodNoMoreIsTakenThanIsWanted) {
  RunningShell shell("yes; true");
  std::string out;
  while (out.size() <= 1'000) {
    shell.wait();
    shell.child.out.take(out, 1'000);
  }
  EXPECT_LT(out.size(), 100'000U);
}

TEST(ChildOutput, TheLastWordsAreKept) {
  RunningShell shell("seq 1 100000 >&2");
  std::string err;
  while (shell.child.err.descriptor() >= 0) {
    shell.wait();
    shell.child.err.take_last(err);
  }
  EXPECT_EQ(err.size(), ChildStream::kLastBytes);
  EXPECT_TRUE(err.ends_with("\n99999\n100000\n"));
}

}  // namespace
}  // namespace chokepoint::sys
