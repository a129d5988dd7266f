#include "base/sys/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/signals.h"

namespace chokepoint::sys {
namespace {

using namespace std::chrono_literals;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe");
    }
    in.reset(ends[0]);
    out.reset(ends[1]);
  }
  std::string read_all() {
    out.reset();
    std::string text;
    std::array<char, 4096> chunk{};
    for (ssize_t got = 0; (got = read(in.get(), chunk.data(), chunk.size())) > 0;) {
      text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return text;
  }
  std::string read_line() {
    std::string line;
    for (char c = 0; read(in.get(), &c, 1) == 1 && c != '\n';) {
      line += c;
    }
    return line;
  }
  Descriptor in;
  Descriptor out;
};

Spawn shell(const std::string& script) { return {.command = {"sh", "-c", script}}; }

TEST(Process, PassesExitCodeAndOutput) {
  Pipe pipe;
  Spawn spawn = shell("echo $GREETING; exit 7");
  spawn.environment = {{"GREETING", "hello"}};
  spawn.out = pipe.out.get();
  Result<Process> process = Process::start(spawn);
  ASSERT_TRUE(process);
  EXPECT_EQ(pipe.read_all(), "hello\n");
  EXPECT_EQ(process->wait(), (ExitStatus{7, 0}));
  EXPECT_EQ(process->wait(), (ExitStatus{7, 0})) << "asked again, the same answer";
}

TEST(Process, TheEnvironmentKeepsItsOrder) {
  std::array<char*, 6> odd{const_cast<char*>("ZETA=1"),   const_cast<char*>("TWICE=a"),
                           const_cast<char*>("ALPHA=2"),  const_cast<char*>("TWICE=b"),
                           const_cast<char*>("nameless"), nullptr};
  Pipe pipe;
  Spawn spawn{.command = {"env"}, .environment = {{"ALPHA", "new"}}, .out = pipe.out.get()};
  char** const before = std::exchange(environ, odd.data());
  Result<Process> process = Process::start(spawn);
  environ = before;
  ASSERT_TRUE(process);
  EXPECT_EQ(pipe.read_all(), "ZETA=1\nTWICE=a\nTWICE=b\nnameless\nALPHA=new\n");
  EXPECT_EQ(process->wait(), (ExitStatus{0, 0}));
}

TEST(Process, AChildMayInheritNamedVariablesAlone) {
  std::array<char*, 5> all{const_cast<char*>("KEY=secret"), const_cast<char*>("HOME_KEY=secret"),
                           const_cast<char*>("HOME=/h"), const_cast<char*>("PATH=/usr/bin:/bin"),
                           nullptr};
  Pipe pipe;
  Spawn spawn{.command = {"env"},
              .environment = {{"NEW", "1"}},
              .inherited = std::vector<std::string>{"HOME", "PATH"},
              .out = pipe.out.get()};
  char** const before = std::exchange(environ, all.data());
  Result<Process> process = Process::start(spawn);
  environ = before;
  ASSERT_TRUE(process);
  EXPECT_EQ(pipe.read_all(), "HOME=/h\nPATH=/usr/bin:/bin\nNEW=1\n");
  EXPECT_EQ(process->wait(), (ExitStatus{0, 0}));
}

TEST(Process, ACommandThatIsNotThereIsAnError) {
  const Result<Process> process = Process::start({.command = {"no-such-program-here"}});
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().kind, ErrorKind::NotFound);
  EXPECT_FALSE(Process::start({}).has_value());
}

TEST(Process, ASignalReachesTheWholeGroup) {
  Pipe pipe;
  Spawn spawn = shell("sleep 60 & echo ready; wait");
  spawn.out = pipe.out.get();
  Result<Process> process = Process::start(spawn);
  ASSERT_TRUE(process);
  ASSERT_EQ(pipe.read_line(), "ready");
  ASSERT_TRUE(process->signal(SIGTERM));
  EXPECT_EQ(process->wait(), (ExitStatus{128 + SIGTERM, SIGTERM}));
  EXPECT_EQ(pipe.read_all(), "") << "the sleep would hold the pipe open for a minute";
  EXPECT_TRUE(process->signal(SIGTERM)) << "gone already";
}

TEST(Process, PollDoesNotWait) {
  Result<Process> process = Process::start(shell("exec sleep 60"));
  ASSERT_TRUE(process);
  const Result<std::optional<ExitStatus>> status = process->poll();
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, std::nullopt);
  ASSERT_TRUE(process->signal(SIGKILL));
  EXPECT_EQ(process->wait()->signal, SIGKILL);
}

TEST(Process, EndsAWholeTreeWithThoseThatLeftItsSession) {
  ASSERT_TRUE(adopt_orphans());
  Pipe pipe;
  // A child that ignores SIGTERM in a session of its own, below one that goes at once.
  Spawn spawn =
      shell("setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done' & wait");
  spawn.out = pipe.out.get();
  Result<Process> process = Process::start(spawn);
  ASSERT_TRUE(process);
  const pid_t stubborn = std::stoi(pipe.read_line());
  const std::vector<pid_t> below = descendants(process->pid(), Root());
  EXPECT_NE(std::ranges::find(below, stubborn), below.end());
  EXPECT_GE(end_tree(process->pid(), 100ms, Root(), SystemClock()), 1U);
  EXPECT_EQ(kill(stubborn, 0), -1);
  EXPECT_TRUE(descendants(getpid(), Root()).empty());
}

TEST(Process, OfManyThreadsLeavesNoZombie) {
  for (int round = 0; round < 20; ++round) {
    Pipe pipe;
    const pid_t child = fork();
    if (child == 0) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 200; ++i) {
        threads.emplace_back([] { pause(); });
      }
      std::ignore = write(pipe.out.get(), "there\n", 6);
      pause();
      _exit(0);
    }
    ASSERT_EQ(pipe.read_line(), "there");
    end_tree(child, 0ms, Root(), SystemClock());
    EXPECT_EQ(waitpid(child, nullptr, WNOHANG), -1) << "it was there to be reaped";
  }
}

TEST(Signals, WhileHeldThreadsAreBornDeafAndStaySo) {
  const auto is_deaf = [] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, SIGTERM) == 1;
  };
  bool was_deaf = false;
  std::thread thread;
  {
    const SignalsHeld held;
    EXPECT_TRUE(is_deaf());
    thread = std::thread([&] { was_deaf = is_deaf(); });
  }
  thread.join();
  EXPECT_TRUE(was_deaf);
  EXPECT_FALSE(is_deaf());
}

TEST(Signals, AHangUpThatTheProcessIgnoresEndsNothing) {
  auto* const before = signal(SIGHUP, SIG_IGN);
  const Result<Signals> signals = Signals::watch_for_end();
  ASSERT_TRUE(signals);
  raise(SIGHUP);
  EXPECT_EQ(signals->next(), std::nullopt);
  raise(SIGTERM);
  EXPECT_EQ(signals->next(), SIGTERM);
  signal(SIGHUP, before);
}

TEST(Signals, AreReadInsteadOfStriking) {
  const Result<Signals> signals = Signals::watch({SIGUSR1});
  ASSERT_TRUE(signals);
  EXPECT_EQ(signals->next(), std::nullopt);
  raise(SIGUSR1);
  EXPECT_EQ(signals->next(), SIGUSR1);
}

TEST(Signals, SuperviseForwardsThemAndReturnsTheStatus) {
  const Result<Signals> signals = Signals::watch({SIGUSR1});
  ASSERT_TRUE(signals);
  Pipe pipe;
  Spawn spawn = shell("trap 'exit 9' USR1; echo ready; while :; do sleep 0.01; done");
  spawn.out = pipe.out.get();
  Result<Process> process = Process::start(spawn);
  ASSERT_TRUE(process);
  ASSERT_EQ(pipe.read_line(), "ready");
  std::jthread sender([] { kill(getpid(), SIGUSR1); });
  EXPECT_EQ(supervise(*process, *signals), (ExitStatus{9, 0}));
}

TEST(BrokenPipe, ThatIsHeldIsAnErrorAlsoInThreadsThatAreStartedMeanwhile) {
  auto ends = open_pipe("test", "pipe");
  ASSERT_TRUE(ends);
  ends->read.reset();
  int here = 0;
  int below = 0;
  std::thread([&] {
    const auto failed = [&] { return write(ends->write.get(), "x", 1) < 0 ? errno : 0; };
    hold_broken_pipe();
    here = failed();
    std::thread([&] { below = failed(); }).join();
  }).join();
  EXPECT_EQ(here, EPIPE);
  EXPECT_EQ(below, EPIPE);
}

}  // namespace
}  // namespace chokepoint::sys
