#include "analysis/mcp/child_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/sys/descriptor.h"
#include "base/sys/temporary_folder.h"

namespace chokepoint::analysis::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;

// A shell in place of this program.
CallOutcome played(const std::string& script, ChildCall call = {}) {
  call.program = "/bin/sh";
  return call({"-c", script});
}

TEST(ChildCall, ReturnsWhatTheCommandPrinted) {
  const CallOutcome outcome = played("echo '{}'; echo 'cut off' >&2");
  EXPECT_FALSE(outcome.has_failed);
  EXPECT_EQ(outcome.out, "{}\n");
  EXPECT_EQ(outcome.messages, "cut off");
}

TEST(ChildCall, FindingsAreNoFailure) { EXPECT_FALSE(played("exit 3").has_failed); }

TEST(ChildCall, AFailureIsTheCommandsErrorLine) {
  const CallOutcome outcome = played("echo half; echo 'chokepoint: x: no such folder' >&2; exit 1");
  EXPECT_TRUE(outcome.has_failed);
  EXPECT_EQ(outcome.out, "chokepoint: x: no such folder");
}

TEST(ChildCall, ACrashAndASilentFailureAreFailuresToo) {
  EXPECT_EQ(played("kill -SEGV $$").out, "ended by signal 11");
  EXPECT_EQ(played("exit 2").out, "ended with exit code 2");
  EXPECT_TRUE(played("exit 2").has_failed);
}

TEST(ChildCall, TimeAndOutputAreBounded) {
  const CallOutcome slow = played("sleep 60", {.most_time = std::chrono::milliseconds(50)});
  EXPECT_TRUE(slow.has_failed);
  EXPECT_THAT(slow.out, HasSubstr("took longer"));
  const CallOutcome loud = played("yes", {.most_bytes = 1000});
  EXPECT_TRUE(loud.has_failed);
  EXPECT_THAT(loud.out, HasSubstr("more than 1000 bytes"));
}

TEST(ChildCall, AnInterruptEndsIt) {
  const sys::Pipe stop = *sys::open_pipe("test", "pipe");
  ASSERT_EQ(::write(stop.write.get(), "x", 1), 1);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(played("exec sleep 60", {.interrupt = stop.read.get()}).has_failed);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST(ChildCall, RunsInTheFolderWithoutInput) {
  EXPECT_EQ(played("pwd; cat", {.folder = "/usr"}).out, "/usr\n");
}

TEST(ChildCall, OnlyTheHistoryCommandGetsAHistory) {
  const auto history_of = [](const char* command) {
    const auto folder = *sys::TemporaryFolder::make("history");
    const std::string program = folder.path() / "program";
    std::ofstream(program) << "#!/bin/sh\necho $1 $CHOKEPOINT_HISTORY\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return ChildCall{.program = program, .history = "/data/h.db"}({command}).out;
  };
  EXPECT_EQ(history_of("history"), "history /data/h.db\n");
  EXPECT_EQ(history_of("doctor"), "doctor none\n");
}

TEST(ChildCall, GetsNoSecretsOfTheEnvironment) {
  ASSERT_EQ(setenv("SERVICE_KEY", "secret", 1), 0);
  ASSERT_EQ(setenv("TMPDIR", "/tmp", 1), 0);
  const std::string variables = played("env").out;
  EXPECT_THAT(variables, HasSubstr("PATH="));
  EXPECT_THAT(variables, HasSubstr("TMPDIR=/tmp"));
  EXPECT_THAT(variables, Not(HasSubstr("SERVICE_KEY")));
}

TEST(ChildCall, AProgramThatCannotStartIsAFailure) {
  const ChildCall call{.program = "/nowhere/chokepoint"};
  EXPECT_TRUE(call({}).has_failed);
}

}  // namespace
}  // namespace chokepoint::analysis::mcp
