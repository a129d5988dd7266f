#include "preflight/launch/told.h"

#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

std::string why(std::initializer_list<std::string_view> lines) {
  Told told;
  for (const std::string_view line : lines) {
    told.add(line);
  }
  return describe(told.why("ssh", "gpu1", {.code = 255}));
}

TEST(Told, TheLastWordsCount) {
  EXPECT_EQ(why({"welcome to gpu1", "it all went wrong\r", "  \r"}),
            "ssh: gpu1: it all went wrong");
}

TEST(Told, KnownWordsCountMoreThanLaterOnesAndHaveANextStep) {
  EXPECT_EQ(why({"ssh: connect to host gpu1 port 22: Connection refused\r", "goodbye"}),
            "ssh: gpu1: connect to host gpu1 port 22: Connection refused; does sshd run there?");
  EXPECT_EQ(why({"chokepoint: serve: no", "Connection to gpu1 closed."}), "ssh: gpu1: serve: no");
}

TEST(Told, SomeWordsAreTheLast) {
  Told told;
  told.add("srun: Job 100 step creation temporarily disabled, retrying");
  EXPECT_FALSE(told.is_over());
  told.add("srun: error: Task launch for StepId=100.0 failed on node gpu1: Communication failure");
  EXPECT_TRUE(told.is_over());
}

TEST(Told, SilenceLeavesTheExitStatus) {
  EXPECT_EQ(why({}), "ssh: gpu1: the agent ended, exit status 255");
}

TEST(Told, OneLineStaysOneLineThatMovesNoCursor) {
  EXPECT_EQ(why({"red \x1b[31m\xff"}), "ssh: gpu1: red ·[31m·");
  EXPECT_LT(why({std::string(10000, 'x')}).size(), 400U);
}

}  // namespace
}  // namespace chokepoint::preflight
