#include "capture/job/job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/capture/job/driver.h"

namespace chokepoint::capture::job {
namespace {

TEST(Job, PassesExitCodeAndBothOutputs) {
  const Outcome outcome = run(shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(outcome.code, 7);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
}

TEST(Job, SaysASignalAsShellsDo) { EXPECT_EQ(run(shell("kill -KILL $$")).code, 128 + SIGKILL); }

TEST(Job, ACommandThatEndsAtOnceIsPassedThrough) {
  EXPECT_EQ(run({"--", "true"}).code, 0);
  EXPECT_EQ(run({"--", "false"}).code, 1);
}

TEST(Job, WhatIsNotThereIsToldAsShellsDo) {
  const Outcome outcome = run({"--", "no-such-program-here"});
  EXPECT_EQ(outcome.code, 127);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("no-such-program-here"), std::string::npos);
  EXPECT_EQ(run({"--", "/etc/passwd"}).code, 126);
  EXPECT_EQ(run({"--", "/no/such/folder/program"}).code, 127);
}

TEST(Job, AScriptWithoutItsFirstLineIsTheShells) {
  const std::string path = temporary_path();
  std::ofstream(path) << "echo \"$1 from a script\"\n";
  chmod(path.c_str(), 0700);
  EXPECT_EQ(run({"--", path, "hello"}).out, "hello from a script\n");
  unlink(path.c_str());
}

TEST(Job, StandardInputIsTheJobs) {
  Ends in = open_pipe();
  Ends out = open_pipe();
  Driver driver({"--", "cat"}, {.in = in.read.get(), .out = out.write.get()});
  in.read.reset();
  out.write.reset();
  ASSERT_EQ(write(in.write.get(), "typed", 5), 5);
  in.write.reset();
  EXPECT_EQ(read_all(out.read.get()), "typed");
  EXPECT_EQ(driver.wait(), 0);
}

TEST(Job, LeadsAGroupOfItsOwnWithNoSignalBlockedOrIgnoredAndNoFileOfOurs) {
  const Outcome outcome =
      run(shell("test $$ = $(ps -o pgid= -p $$) && grep -E '^Sig(Blk|Ign)' /proc/self/status;"
                "ls /proc/self/fd | tr '\\n' ' '"),
          [] { closefrom(3); });
  EXPECT_EQ(outcome.out,
            "SigBlk:\t0000000000000000\n"
            "SigIgn:\t0000000000000000\n"
            "0 1 2 3 ");  // 3 is the folder that ls reads
}

TEST(Job, WhatOurCallerIgnoresTheJobIgnores) {
  const auto as_nohup = [] { signal(SIGHUP, SIG_IGN); };
  EXPECT_EQ(run(shell("kill -HUP $$; echo still here"), as_nohup).out, "still here\n");
  EXPECT_EQ(run(shell("kill -HUP $$; echo still here")).out, "");
}

TEST(Job, ACallerThatIgnoresItsChildrensEndHidesNothingFromUs) {
  EXPECT_EQ(run(shell("exit 5"), [] { signal(SIGCHLD, SIG_IGN); }).code, 5);
}

TEST(Job, AJobThatIgnoresSigtermGoesOn) {
  Ends out = open_pipe();
  Driver driver(shell("trap '' TERM; echo ready; sleep 0.3; echo done; exit 4"),
                {.out = out.write.get()});
  out.write.reset();
  ASSERT_EQ(read_until(out.read.get(), "ready\n"), "ready\n");
  driver.signal(SIGTERM);
  EXPECT_EQ(read_all(out.read.get()), "done\n");
  EXPECT_EQ(driver.wait(), 4);
}

TEST(Job, OrphansAreReaped) {
  // The grandchild loses its parent at once, and must not stay as a zombie of ours.
  const Outcome outcome =
      run(shell("sh -c 'sleep 0.1 & echo $!' > /dev/stdout; sleep 0.4; ps -o stat= --ppid $PPID"));
  EXPECT_EQ(outcome.out.find('Z'), std::string::npos) << outcome.out;
}

TEST(Job, UnwatchedItHasOurOwnDescriptors) {
  const std::string path = temporary_path();
  const sys::Descriptor file(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  Driver driver({"--unwatched", "--", "sh", "-c", "readlink /proc/$$/fd/1"}, {.out = file.get()});
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_EQ(content_of(path), path + "\n");
  unlink(path.c_str());
}

}  // namespace
}  // namespace chokepoint::capture::job
