#include "preflight/launch/launcher_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

std::string why(std::initializer_list<std::string_view> lines) {
  LauncherOutput output;
  for (const std::string_view line : lines) {
    output.add(line);
  }
  return describe(output.why("ssh", "gpu1", {.code = 255}));
}

TEST(LauncherOutput, TheLastWordsCount) {
  EXPECT_EQ(why({"welcome to gpu1", "it all went wrong\r", "  \r"}),
            "ssh: gpu1: it all went wrong");
}

TEST(LauncherOutput, KnownWordsCountMoreThanLaterOnesAndHaveANextStep) {
  EXPECT_EQ(why({"ssh: connect to host gpu1 port 22: Connection refused\r", "goodbye"}),
            "ssh: gpu1: connect to host gpu1 port 22: Connection refused; does sshd run there?");
  EXPECT_EQ(why({"chokepoint: serve: no", "Connection to gpu1 closed."}), "ssh: gpu1: serve: no");
}

TEST(LauncherOutput, SomeWordsAreTheLast) {
  LauncherOutput output;
  output.add("srun: Job 100 step creation temporarily disabled, retrying");
  EXPECT_FALSE(output.is_over());
  output.add(
      "srun: error: Task launch for StepId=100.0 failed on node gpu1: Communication failure");
  EXPECT_TRUE(output.is_over());
}

TEST(LauncherOutput, SilenceLeavesTheExitStatus) {
  EXPECT_EQ(why({}), "ssh: gpu1: the agent ended, exit status 255");
}

TEST(LauncherOutput, OneLineStaysOneLineThatMovesNoCursor) {
  EXPECT_EQ(why({"red \x1b[31m\xff"}), "ssh: gpu1: red ·[31m·");
  EXPECT_LT(why({std::string(10000, 'x')}).size(), 400U);
}

}  // namespace
}  // namespace chokepoint::preflight
