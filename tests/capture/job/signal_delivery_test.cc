// The job has each signal as often as it would alone, whoever signals whom.
#include "capture/job/signal_delivery.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <thread>

#include "base/sys/process.h"
#include "tests/capture/job/driver.h"

namespace chokepoint::capture::job {
namespace {

using namespace std::chrono_literals;

constexpr std::array kNumbers{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
constexpr auto kSettled = HeldSignals::kSpread + 150ms;

// More by hand: SIGNAL_ROUNDS=1000 capture_job_tests --gtest_filter='SignalDelivery.*'
int rounds() {
  const char* const word = std::getenv("SIGNAL_ROUNDS");
  return word != nullptr ? std::atoi(word) : 2;
}

struct Counts {
  int first = 0;
  int second = 0;
  bool operator==(const Counts&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Counts& counts) {
  return out << counts.first << " of the first process, " << counts.second << " of the second";
}

class SignalDelivery : public testing::Test {
 protected:
  SignalDelivery() {
    in_.read.reset();
    EXPECT_TRUE(await([&] { return counted("ready") == Counts{1, 1}; }));
    EXPECT_TRUE(await([&] { return witnesses().size() == 2; }));
  }
  ~SignalDelivery() override {
    in_.write.reset();
    driver_.wait();
    unlink(path_.c_str());
  }

  // chokepoint first, then what is below it.
  std::vector<pid_t> everybody() const {
    std::vector<pid_t> list = sys::descendants(driver_.pid(), sys::Root());
    list.insert(list.begin(), driver_.pid());
    return list;
  }
  std::vector<pid_t> named(const std::string& name) const {
    std::vector<pid_t> list = everybody();
    std::erase_if(list, [&](pid_t pid) { return status_field(pid, "Name") != name; });
    return list;
  }
  std::vector<pid_t> witnesses() const { return named(kWitnessName); }
  pid_t job() const { return named("signal_log").front(); }

  Counts counted(const std::string& word) const {
    Counts counts;
    std::istringstream log(content_of(path_));
    for (std::string line; std::getline(log, line);) {
      counts.first += line == "first " + word ? 1 : 0;
      counts.second += line == "second " + word ? 1 : 0;
    }
    return counts;
  }

  // `send` is called for each signal, one after the other; then the job has so many of each more.
  void expect_each(const Counts& wanted, const std::function<void(int number)>& send) {
    std::map<int, Counts> before;
    for (const int number : kNumbers) {
      before[number] = counted(std::to_string(number));
      send(number);
    }
    std::this_thread::sleep_for(kSettled);
    for (const int number : kNumbers) {
      const Counts now = counted(std::to_string(number));
      EXPECT_EQ((Counts{now.first - before[number].first, now.second - before[number].second}),
                wanted)
          << number;
    }
  }

  std::string path_ = temporary_path();
  Ends in_ = open_pipe();
  Driver driver_{{"--", SIGNAL_LOG, path_}, {.in = in_.read.get()}};
};

TEST_F(SignalDelivery, OursAloneIsForTheJobsFirstProcess) {
  for (int i = 0; i < rounds(); ++i) {
    expect_each({1, 0}, [&](int number) { driver_.signal(number); });
  }
}

TEST_F(SignalDelivery, OurGroupsIsForTheJobsGroup) {
  for (int i = 0; i < rounds(); ++i) {
    expect_each({1, 1}, [&](int number) { kill(-driver_.pid(), number); });
  }
}

TEST_F(SignalDelivery, TheJobsGroupHasItsOwnOnce) {
  for (int i = 0; i < rounds(); ++i) {
    expect_each({1, 1}, [&](int number) { kill(-job(), number); });
    expect_each({1, 0}, [&](int number) { driver_.signal(number); });
  }
}

TEST_F(SignalDelivery, EachProcessSignalledForItselfHasItOnce) {
  for (int i = 0; i < rounds(); ++i) {
    for (const auto gap : {0us, 300us, 5000us}) {
      for (const bool is_from_below : {false, true}) {
        std::vector<pid_t> pids = everybody();
        if (is_from_below) {
          std::ranges::reverse(pids);
        }
        expect_each({1, 1}, [&](int number) {
          for (const pid_t pid : pids) {
            kill(pid, number);
            std::this_thread::sleep_for(gap);
          }
        });
      }
    }
  }
}

TEST_F(SignalDelivery, AnotherSendersIsPassedOnToo) {
  expect_each({2, 1}, [&](int number) {
    std::ranges::for_each(everybody(), [&](pid_t pid) { kill(pid, number); });
    std::this_thread::sleep_for(20ms);
    const pid_t other = fork();
    if (other == 0) {
      driver_.signal(number);
      _exit(0);
    }
    waitpid(other, nullptr, 0);
  });
}

TEST_F(SignalDelivery, WithoutWitnessesTheWholeGroupHasIt) {
  std::ranges::for_each(witnesses(), [](pid_t pid) { kill(pid, SIGKILL); });
  EXPECT_TRUE(await([&] { return witnesses().empty(); }));
  expect_each({1, 1}, [&](int number) { driver_.signal(number); });
}

// `pkill -f` of the job's words finds the job itself; that of chokepoint's does not.
TEST_F(SignalDelivery, AWitnessIsFoundByTheJobsWordsAlone) {
  for (const pid_t pid : witnesses()) {
    const std::string words = content_of("/proc/" + std::to_string(pid) + "/cmdline");
    EXPECT_NE(words.find(path_), std::string::npos) << words;
    EXPECT_EQ(words.find("run_job"), std::string::npos) << words;
  }
}

TEST_F(SignalDelivery, WitnessesEndWithUs) {
  const std::vector<pid_t> all = witnesses();
  driver_.signal(SIGKILL);
  for (const pid_t pid : all) {
    EXPECT_TRUE(await([&] {
      const std::string state = status_field(pid, "State");
      return state.empty() || state.front() == 'Z';
    }));
  }
  EXPECT_EQ(driver_.wait(), 128 + SIGKILL);
}

}  // namespace
}  // namespace chokepoint::capture::job
