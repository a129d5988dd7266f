// A writer is killed by SIGKILL at random moments, over and over. What it had pushed a second
// before must be there, without a hole, in a file that SQLite finds sound.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "base/record/opening.h"
#include "base/record/reader.h"
#include "base/sys/clock.h"

namespace chokepoint::record {
namespace {

constexpr int kKills = 200;
constexpr int kAtOnce = 10;
constexpr std::int64_t kPromiseNs = 1'000'000'000;

struct Victim {
  std::filesystem::path folder;
  pid_t pid = 0;
  std::int64_t kill_at_ns = 0;
  std::int64_t killed_ns = 0;
};

pid_t start_writer(const std::filesystem::path& folder) {
  std::string program = CHOKEPOINT_RECORD_PUSHER;
  std::string argument = folder.string();
  std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments.data(), environ), 0);
  return pid;
}

// The helper notes the number and time of every row, before it pushes it, as two words.
struct Note {
  std::int64_t number;
  std::int64_t t_ns;
};

std::vector<Note> notes_of(const Victim& victim) {
  std::ifstream file(victim.folder / "notes", std::ios::binary);
  std::vector<Note> notes;
  Note note{};
  while (file.read(reinterpret_cast<char*>(&note), sizeof(note))) {
    notes.push_back(note);
  }
  return notes;
}

class Kill : public testing::Test {
 protected:
  void run_round(int count) {
    std::vector<Victim> victims(static_cast<std::size_t>(count));
    for (Victim& victim : victims) {
      victim.folder = folder_.path() / std::to_string(next_++);
      std::filesystem::create_directories(victim.folder);
      victim.pid = start_writer(victim.folder);
      victim.kill_at_ns = clock_.monotonic_ns() + delay_ns();
    }
    std::ranges::sort(victims, {}, &Victim::kill_at_ns);
    for (Victim& victim : victims) {
      kill_at(victim);
    }
    for (const Victim& victim : victims) {
      check(victim);
    }
  }

  // Most kills come soon after the promise can first be broken; some in the very beginning.
  std::int64_t delay_ns() {
    const bool is_early = random_() % 5 == 0;
    const std::uint64_t most = is_early ? 1'000'000'000 : 400'000'000;
    return static_cast<std::int64_t>(random_() % most) + (is_early ? 0 : kPromiseNs);
  }

  void kill_at(Victim& victim) {
    const std::int64_t left = victim.kill_at_ns - clock_.monotonic_ns();
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<std::int64_t>(left, 0)));
    victim.killed_ns = clock_.monotonic_ns();
    EXPECT_EQ(kill(victim.pid, SIGKILL), 0);
    int status = 0;
    waitpid(victim.pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the helper ended by itself: " << status;
  }

  void check(const Victim& victim) {
    const std::vector<Note> notes = notes_of(victim);
    auto reader = Reader::open(victim.folder / "n1.db");
    std::int64_t last = 0;
    std::int64_t last_ns = 0;
    if (reader) {
      const Result<> done = reader->each<CounterSample>([&](const CounterSample& sample) {
        EXPECT_EQ(static_cast<std::int64_t>(sample.value), last + 1) << "a row is missing";
        last = static_cast<std::int64_t>(sample.value);
        last_ns = sample.t_ns;
      });
      EXPECT_TRUE(done) << describe(done.error());
      expect_sound(victim.folder / "n1.db");
    }
    for (const Note& note : notes) {
      if (note.t_ns < victim.killed_ns - kPromiseNs) {
        EXPECT_LE(note.number, last) << "lost, though older than a second: " << victim.folder;
        ++promised_;
      }
    }
    if (last > 0 && !notes.empty()) {
      oldest_loss_ns_ = std::max(oldest_loss_ns_, victim.killed_ns - last_ns);
    }
    std::filesystem::remove_all(victim.folder);
  }

  static void expect_sound(const std::filesystem::path& path) {
    auto database = Database::open(path, Access::Write);
    ASSERT_TRUE(database) << describe(database.error());
    auto check = database->prepare("PRAGMA integrity_check");
    ASSERT_TRUE(check && *check->step());
    std::string verdict;
    check->read(0, verdict);
    EXPECT_EQ(verdict, "ok");
  }

  PrivateFolder folder_ = std::move(*PrivateFolder::make());
  sys::SystemClock clock_;
  std::mt19937_64 random_;
  int next_ = 0;
  std::int64_t promised_ = 0;
  std::int64_t oldest_loss_ns_ = 0;
};

TEST_F(Kill, EverythingOlderThanASecondIsThere) {
  const char* given = std::getenv("CHOKEPOINT_SEED");
  const std::uint64_t seed =
      given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  std::printf("CHOKEPOINT_SEED=%llu\n", static_cast<unsigned long long>(seed));
  random_.seed(seed);
  for (int killed = 0; killed < kKills; killed += kAtOnce) {
    run_round(kAtOnce);
  }
  std::printf(
      "%d kills; %lld rows older than a second, none lost; newest row at most %lld ms old\n",
      kKills, static_cast<long long>(promised_),
      static_cast<long long>(oldest_loss_ns_ / 1'000'000));
  EXPECT_GT(promised_, 0);
}

}  // namespace
}  // namespace chokepoint::record
