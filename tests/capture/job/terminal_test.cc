// What a user at a terminal sees and does, with a real shell between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "capture/job/job.h"
#include "tests/capture/job/driver.h"
#include "tests/capture/job/shell_in_terminal.h"

namespace chokepoint::capture::job {
namespace {

using testing::HasSubstr;
using testing::Not;

// The jobs here fork nothing while keys are pressed: dash loses signals that come while it forks.
constexpr const char* kInterrupt = "\x03";
constexpr const char* kSuspend = "\x1a";

char state_of(pid_t pid) {
  const std::string state = status_field(pid, "State");
  return state.empty() ? '-' : state.front();
}

class InTerminal : public testing::Test {
 protected:
  std::string run(const std::string& script) {
    return shell_.command("$RUN_JOB -- sh -c '" + script + "'; echo code $?");
  }
  // The number after a word that the job prints.
  pid_t read_number(const std::string& word) {
    shell_.read_until(word + " ");
    return std::atoi(shell_.read_until("\n").c_str());
  }

  // A key is bash's own while it hands the terminal over: as a person would, once more.
  void press(const char* key, const std::function<bool()>& works) {
    constexpr int kLooksApart = 50;
    int looks = 0;
    EXPECT_TRUE(await([&] {
      if (looks++ % kLooksApart == 0) {
        shell_.type(key);
      }
      return works();
    }));
  }

  ShellInTerminal shell_;
};

TEST_F(InTerminal, TheJobHasOneForEachStream) {
  EXPECT_THAT(run("test -t 0 && test -t 1 && test -t 2 && echo yes"), HasSubstr("yes\r\ncode 0"));
}

TEST_F(InTerminal, BytesAreTouchedByTheUsersTerminalAlone) {
  EXPECT_THAT(run("printf \"a\\tb\\nc\\n\""), HasSubstr("a\tb\r\nc\r\ncode 0"));
  shell_.command("stty -opost");
  EXPECT_THAT(run("printf \"a\\nb\\n\""), HasSubstr("a\nb\ncode 0"));
}

TEST_F(InTerminal, BothOutputsStayInOrder) {
  EXPECT_THAT(run("for i in 1 2 3; do echo out $i; echo err $i >&2; done"),
              HasSubstr("out 1\r\nerr 1\r\nout 2\r\nerr 2\r\nout 3\r\nerr 3\r\n"));
}

TEST_F(InTerminal, ItsSizeIsTheJobsFromTheStartAndLater) {
  shell_.resize(33, 101);
  EXPECT_THAT(run("stty size <&1"), HasSubstr("33 101\r\n"));
  // Told twice, before and after its own terminal has the size. Shells forget what comes while a
  // trap is run.
  shell_.type(
      "$RUN_JOB -- python3 -c 'import os, signal, time; "
      "signal.signal(signal.SIGWINCH, "
      "lambda *_: print(*reversed(os.get_terminal_size(1)), flush=True)); "
      "print(\"rea\" + \"dy\", flush=True); [time.sleep(0.01) for _ in range(6000)]'\n");
  shell_.read_until("ready");
  shell_.resize(44, 122);
  EXPECT_THAT(shell_.read_until("44 122"), Not(HasSubstr("nothing more")));
  shell_.type(kInterrupt);
  shell_.read_until(kPrompt);
}

TEST_F(InTerminal, WhatIsTypedIsTheJobs) {
  shell_.type("$RUN_JOB -- sh -c 'echo ready; read word; echo got $word'; echo code $?\n");
  shell_.read_until("ready");
  shell_.type("hello\n");
  EXPECT_THAT(shell_.read_until(kPrompt), HasSubstr("got hello\r\ncode 0"));
}

TEST_F(InTerminal, ControlCEndsTheJob) {
  shell_.type("$RUN_JOB -- sh -c 'echo ready; exec sleep 60'; echo code $?\n");
  shell_.read_until("ready");
  shell_.type(kInterrupt);
  EXPECT_THAT(shell_.read_until(kPrompt), HasSubstr("code 130"));
}

TEST_F(InTerminal, ControlCReachesTheScriptAroundUsAsWell) {
  shell_.type("sh -c '$RUN_JOB -- sh -c \"echo ready; exec sleep 60\"; echo next'\n");
  shell_.read_until("ready");
  shell_.type(kInterrupt);
  EXPECT_THAT(shell_.read_until(kPrompt), Not(HasSubstr("next")));
  EXPECT_THAT(shell_.command("echo code $?"), HasSubstr("code 130"));
}

TEST_F(InTerminal, ControlZStopsBothAndTheShellContinuesThem) {
  shell_.type(
      "$RUN_JOB -- sh -c 'echo we $PPID; echo job $$; read word; echo got $word; exit 3'\n");
  const pid_t we = read_number("we");
  const pid_t job = read_number("job");
  shell_.type(kSuspend);
  EXPECT_THAT(shell_.read_until(kPrompt), HasSubstr("Stopped"));
  EXPECT_EQ(state_of(we), 'T');
  EXPECT_EQ(state_of(job), 'T');
  shell_.type("fg\n");
  shell_.type("hello\n");
  EXPECT_THAT(shell_.read_until("got hello"), Not(HasSubstr("nothing more")));
  shell_.read_until(kPrompt);
  EXPECT_THAT(shell_.command("echo code $?"), HasSubstr("code 3"));
}

TEST_F(InTerminal, AStoppedJobGoesOnInTheBackgroundAndComesBack) {
  shell_.type("$RUN_JOB -- sh -c 'echo job $$; exec sleep 60'\n");
  const pid_t job = read_number("job");
  shell_.type(kSuspend);
  shell_.read_until(kPrompt);
  EXPECT_EQ(state_of(job), 'T');
  shell_.command("bg");
  EXPECT_TRUE(await([&] { return state_of(job) == 'S'; }));
  shell_.type("fg\n");
  shell_.read_until("sleep 60'\r\n");  // bash says what it continues
  press(kInterrupt, [&] { return state_of(job) == '-'; });
  shell_.read_until(kPrompt);
}

TEST_F(InTerminal, AJobInTheBackgroundThatReadsIsStoppedAsAnyOther) {
  shell_.type("$RUN_JOB -- sh -c 'echo job $$; read word; echo got $word' &\n");
  const pid_t job = read_number("job");
  EXPECT_TRUE(await([&] { return state_of(job) == 'T'; }));
  EXPECT_TRUE(await([&] { return shell_.command("jobs").find("Stopped") != std::string::npos; }));
  shell_.type("fg\n");
  shell_.type("hello\n");
  EXPECT_THAT(shell_.read_until("got hello"), Not(HasSubstr("nothing more")));
  shell_.read_until(kPrompt);
}

TEST_F(InTerminal, WhereBackgroundWritersAreStoppedTheOutputStillComes) {
  shell_.command("stty tostop");
  EXPECT_THAT(run("echo through; sleep 0.1; echo and through"),
              HasSubstr("through\r\nand through\r\ncode 0"));
}

TEST_F(InTerminal, APagerBehindUsHasTheKeyboard) {
  for (int i = 0; i < 3; ++i) {
    shell_.type("$RUN_JOB -- seq 1 300000 | less; echo codes ${PIPESTATUS[*]}\n");
    shell_.read_until(":");
    shell_.type("G");
    EXPECT_THAT(shell_.read_until("300000"), Not(HasSubstr("nothing more")));
    shell_.type("q");
    EXPECT_THAT(shell_.read_until(kPrompt), HasSubstr("codes 0 0"));
  }
}

TEST_F(InTerminal, APagerThatIsLeftEndsTheJob) {
  shell_.type("$RUN_JOB -- yes | less; echo codes ${PIPESTATUS[*]}\n");
  shell_.read_until(":");
  shell_.type("q");
  EXPECT_THAT(shell_.read_until(kPrompt), HasSubstr("codes 141 0"));
}

TEST_F(InTerminal, ThatOfAJobWhoseWatcherWasKilledStillShowsWhatItPrints) {
  shell_.type("$RUN_JOB -- sh -c 'echo we $PPID; sleep 0.3; echo still here'\n");
  kill(read_number("we"), SIGKILL);
  EXPECT_THAT(shell_.read_until("still here"), Not(HasSubstr("nothing more")));
}

TEST_F(InTerminal, ACommandThatIsNotThereLeavesItWithTheShell) {
  EXPECT_THAT(shell_.command("$RUN_JOB -- no-such-program; echo code $?"), HasSubstr("code 127"));
  EXPECT_THAT(shell_.command("sh -c 'exec $RUN_JOB -- no-such-program'; echo code $?"),
              HasSubstr("code 127"));
}

}  // namespace
}  // namespace chokepoint::capture::job
