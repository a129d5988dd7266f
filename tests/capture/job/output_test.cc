// What a job prints comes out as it went in, whoever reads it and whatever becomes of us.
#include "capture/job/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/sys/clock.h"
#include "base/sys/process.h"
#include "base/sys/sanitizers.h"
#include "tests/capture/job/driver.h"
#include "tests/fakes/no_descriptors.h"

namespace chokepoint::capture::job {
namespace {

using namespace std::chrono_literals;

struct SeenPiece {
  std::string stream = {};
  std::int64_t t_ns = 0;
  std::string bytes = {};
};

struct Seen {
  std::vector<SeenPiece> pieces = {};
  std::uint64_t missed = 0;

  std::string bytes_of(const std::string& stream) const {
    std::string all;
    for (const SeenPiece& piece : pieces) {
      all += piece.stream == stream ? piece.bytes : "";
    }
    return all;
  }
};

std::string from_hex(const std::string& hex) {
  std::string bytes = {};
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// What run_job kept of the copies.
Seen read_copies(const std::string& path) {
  Seen seen;
  std::istringstream lines(content_of(path));
  unlink(path.c_str());
  for (std::string word; lines >> word;) {
    if (word == "missed") {
      lines >> seen.missed;
      continue;
    }
    SeenPiece piece{.stream = word};
    std::string hex;
    lines >> piece.t_ns >> hex;
    piece.bytes = from_hex(hex);
    seen.pieces.push_back(piece);
  }
  return seen;
}

Words copied(const std::string& path, const Words& arguments) {
  Words all{"--copies", path};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

// At once: of many small pieces some may find no room in the queue of copies where nobody reads it.
std::string every_byte() {
  std::string command = "printf '";
  for (int value = 0; value < 256; ++value) {
    command += fmt::format("\\{:03o}", value);
  }
  return command + "'";
}

TEST(Output, EveryByteComesOutAndIsSeen) {
  std::string expected;
  for (int value = 0; value < 256; ++value) {
    expected += static_cast<char>(value);
  }
  const std::string path = temporary_path();
  EXPECT_EQ(run(copied(path, shell(every_byte()))).out, expected);
  EXPECT_EQ(read_copies(path).bytes_of("out"), expected);
}

TEST(Output, CopiesCarryTheirStreamAndTheMonotonicTime) {
  const sys::SystemClock clock;
  const std::int64_t before = clock.monotonic_ns();
  const std::string path = temporary_path();
  run(copied(path, shell("echo first; sleep 0.3; echo second; echo third >&2")));
  const Seen seen = read_copies(path);
  EXPECT_EQ(seen.bytes_of("out"), "first\nsecond\n");
  EXPECT_EQ(seen.bytes_of("err"), "third\n");
  EXPECT_EQ(seen.missed, 0U);
  ASSERT_EQ(seen.pieces.front().bytes, "first\n");
  EXPECT_GT(seen.pieces.front().t_ns, before);
  EXPECT_LT(seen.pieces.back().t_ns, clock.monotonic_ns());
  EXPECT_GE(seen.pieces.back().t_ns - seen.pieces.front().t_ns, 100'000'000);
}

TEST(Output, OfOneFileStaysInOrder) {
  const std::string path = temporary_path();
  const sys::Descriptor file(open(path.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600));
  const std::string script =
      "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    expected += "out " + std::to_string(i) + "\nerr " + std::to_string(i) + "\n";
  }
  Driver driver(shell(script), {.out = file.get(), .err = file.get()});
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_EQ(content_of(path), expected);
  unlink(path.c_str());
}

// A cheap sum that depends on the order.
std::uint64_t sum_of(std::string_view bytes, std::uint64_t sum) {
  for (const char letter : bytes) {
    sum = sum * 1099511628211U + static_cast<unsigned char>(letter);
  }
  return sum;
}

TEST(Output, AFloodLosesNoByteThoughCopiesAreMissed) {
  constexpr std::size_t kBytes = 200'000'000;
  Ends out = open_pipe();
  const std::string path = temporary_path();
  Driver driver(
      {"--copies", path, "--pause", "200", "--", "sh", "-c", "seq 1 30000000 | head -c 200000000"},
      {.out = out.write.get()});
  out.write.reset();
  std::uint64_t sum = 0;
  std::size_t size = 0;
  for (std::string piece; !(piece = read_some(out.read.get(), 1 << 20)).empty();) {
    sum = sum_of(piece, sum);
    size += piece.size();
  }
  EXPECT_EQ(driver.wait(), 0);
  std::uint64_t expected = 0;
  std::size_t made = 0;
  for (int number = 1; made < kBytes; ++number) {
    const std::string line = std::to_string(number) + "\n";
    const std::size_t used = std::min(line.size(), kBytes - made);
    expected = sum_of(std::string_view(line).substr(0, used), expected);
    made += used;
  }
  EXPECT_EQ(size, kBytes);
  EXPECT_EQ(sum, expected);
  EXPECT_NE(content_of(path).find("missed "), std::string::npos);
  EXPECT_EQ(content_of(path).find("missed 0\n"), std::string::npos) << "nobody waited for us";
  unlink(path.c_str());
}

TEST(Output, AReaderThatGoesEndsTheJobAsItWouldHave) {
  Ends out = open_pipe();
  Driver driver({"--", "yes"}, {.out = out.write.get()});
  out.write.reset();
  EXPECT_EQ(read_until(out.read.get(), "\n"), "y\n");
  out.read.reset();
  EXPECT_EQ(driver.wait(), 128 + SIGPIPE);
}

TEST(Output, AReaderThatWentWhileNothingWasPrintedIsNoticedAtTheNextWrite) {
  Ends out = open_pipe();
  Ends in = open_pipe();
  Driver driver(shell("echo one; read word; echo two; echo three"),
                {.in = in.read.get(), .out = out.write.get()});
  out.write.reset();
  EXPECT_EQ(read_until(out.read.get(), "\n"), "one\n");
  out.read.reset();
  std::this_thread::sleep_for(100ms);
  ASSERT_EQ(write(in.write.get(), "go\n", 3), 3);
  EXPECT_EQ(driver.wait(), 128 + SIGPIPE);
}

TEST(Output, AReaderThatStopsForAWhileGetsItAll) {
  Ends out = open_pipe();
  Driver driver({"--", "seq", "1", "200000"}, {.out = out.write.get()});
  out.write.reset();
  std::string text = read_some(out.read.get(), 1000);
  std::this_thread::sleep_for(1s);
  text += read_all(out.read.get());
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_TRUE(text.ends_with("\n199999\n200000\n"));
  EXPECT_EQ(text.size(), 1288895U);
}

TEST(Output, IsOutBeforeWeReturn) {
  Ends out = open_pipe();
  Driver driver(shell("head -c 150000 /dev/zero"), {.out = out.write.get()});
  out.write.reset();
  // The job itself ends as soon as pipes and relay hold what is left; we do not.
  std::size_t size = read_some(out.read.get(), 1000).size();
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(status_field(driver.pid(), "State").front(), 'S');
  size += read_some(out.read.get(), 149'000).size();
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_EQ(size, 150'000U);
}

TEST(Output, WhoHoldsItOpenAfterTheEndIsNotWaitedForAndPrintsOn) {
  Ends out = open_pipe();
  Driver driver(shell("(sleep 0.5; echo late) & echo early"), {.out = out.write.get()});
  out.write.reset();
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_EQ(read_until(out.read.get(), "\n"), "early\n");
  EXPECT_EQ(read_all(out.read.get()), "late\n");
}

TEST(Output, ADaemonThatPrintsWithoutEndDoesNotKeepUs) {
  Ends out = open_pipe();
  Driver driver(shell("yes & exit 3"), {.out = out.write.get()});
  out.write.reset();
  const sys::Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, driver.pid(), 0)));
  bool has_ended = false;
  for (int i = 0; i < 20'000 && !has_ended; ++i) {
    read_some(out.read.get(), 65536);
    pollfd end{process.get(), POLLIN, 0};
    has_ended = poll(&end, 1, 0) > 0;
  }
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(driver.wait(), 3);
}

TEST(Output, ThatIsClosedStaysClosed) {
  const Outcome outcome =
      run(shell("ls /proc/self/fd > /dev/stderr"), [] { close(STDOUT_FILENO); });
  EXPECT_NE(outcome.err.find("2\n"), std::string::npos);
  EXPECT_EQ(
      run(shell("test -e /proc/$$/fd/1 && echo open >&2; exit 0"), [] { close(STDOUT_FILENO); })
          .err,
      "");
}

TEST(Output, ThatCannotBeWatchedIsRemarked) {
  const sys::SystemClock clock;
  EXPECT_EQ(OutputWatch().remark(), std::nullopt) << "not asked for";
  if (fakes::kVirtualCallsNeedDescriptors) {
    GTEST_SKIP() << "the sanitizer needs descriptors";
  }
  constexpr rlim_t kStreamsOnly = 3;
  std::optional<fakes::NoDescriptors> none(std::in_place, kStreamsOnly);
  Result<OutputWatch> watch = OutputWatch::open(clock);
  none.reset();
  ASSERT_TRUE(watch);
  EXPECT_TRUE(watch->release().empty());
  const std::string remark = watch->remark().value_or("");
  EXPECT_TRUE(remark.starts_with("no output: ")) << remark;
  EXPECT_TRUE(remark.ends_with(": too many open files")) << remark;
}

TEST(Output, ThatTakesNothingJustNowIsWaitedFor) {
  Ends out = open_pipe();
  fcntl(out.write.get(), F_SETFL, O_NONBLOCK);
  Driver driver({"--", "seq", "1", "200000"}, {.out = out.write.get()});
  out.write.reset();
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(read_all(out.read.get()).size(), 1288895U);
  EXPECT_EQ(driver.wait(), 0);
}

TEST(Output, AFullDiskDoesNotEndTheJob) {
  const sys::Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  Ends err = open_pipe();
  Driver driver(shell("for i in 1 2 3; do echo lost; sleep 0.02; done; echo alive >&2; exit 6"),
                {.out = full.get(), .err = err.write.get()});
  err.write.reset();
  EXPECT_EQ(read_all(err.read.get()), "alive\n");
  EXPECT_EQ(driver.wait(), 6);
}

// What it has open but /dev/null; -1 while some are being closed.
std::ptrdiff_t used_files(const std::filesystem::path& process) {
  std::ptrdiff_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(process / "fd")) {
    std::error_code closed;
    files += std::filesystem::read_symlink(entry, closed) == "/dev/null" ? 0 : 1;
    if (closed) {
      return -1;
    }
  }
  return files;
}

TEST(Output, TheRelayHasItsNameAndKeepsNothing) {
  Ends out = open_pipe();
  Ends in = open_pipe();
  Driver driver({"--", "cat"}, {.in = in.read.get(), .out = out.write.get()});
  out.write.reset();
  in.read.reset();
  std::string relay;
  ASSERT_TRUE(await([&] {
    relay = content_of("/proc/" + std::to_string(driver.pid()) + "/task/" +
                       std::to_string(driver.pid()) + "/children");
    return std::count(relay.begin(), relay.end(), ' ') >= 2;
  }));
  const pid_t pid = std::stoi(relay);
  EXPECT_TRUE(await([&] { return status_field(pid, "Name") == "job-output"; }));
  // It gives up the rest one by one after that.
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  EXPECT_TRUE(await([&] { return std::filesystem::read_symlink(process / "cwd") == "/"; }));
  // A sanitizer reports on standard error, which stays open for it.
  const int kept = sys::kIsSanitized ? 4 : 3;
  EXPECT_TRUE(await([&] { return used_files(process) == kept; }))
      << "not the job's output, ours, and the way to chokepoint, but " << used_files(process);
  in.write.reset();
  EXPECT_EQ(driver.wait(), 0);
}

// The test's own process takes on what loses its parent, and so can see how it ended.
class Survival : public testing::Test {
 protected:
  Survival() { sys::adopt_orphans().value(); }
};

TEST_F(Survival, TheJobGoesOnWhenWeAreKilled) {
  Ends out = open_pipe();
  Ends in = open_pipe();
  Driver driver(shell("echo $$; read word; seq 1 100000; exit 9"),
                {.in = in.read.get(), .out = out.write.get()});
  out.write.reset();
  in.read.reset();
  const pid_t job = std::stoi(read_until(out.read.get(), "\n"));
  driver.signal(SIGKILL);
  EXPECT_EQ(driver.wait(), 128 + SIGKILL);
  ASSERT_EQ(write(in.write.get(), "go\n", 3), 3);
  EXPECT_EQ(read_all(out.read.get()).size(), 588895U);
  int status = 0;
  EXPECT_EQ(waitpid(job, &status, 0), job);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 9);
}

TEST_F(Survival, TheRelayIsDeafToWhatEndsAJob) {
  Ends out = open_pipe();
  Driver driver(shell("trap 'echo ended; exit 2' TERM; echo ready; while :; do sleep 0.02; done"),
                {.out = out.write.get()});
  out.write.reset();
  ASSERT_EQ(read_until(out.read.get(), "\n"), "ready\n");
  const pid_t relay = std::stoi(content_of("/proc/" + std::to_string(driver.pid()) + "/task/" +
                                           std::to_string(driver.pid()) + "/children"));
  ASSERT_EQ(status_field(relay, "Name"), "job-output");
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGPIPE}) {
    kill(relay, number);
  }
  driver.signal(SIGTERM);
  EXPECT_EQ(read_all(out.read.get()), "ended\n");
  EXPECT_EQ(driver.wait(), 2);
}

pid_t relay_of(const Driver& driver) {
  std::istringstream children(content_of("/proc/" + std::to_string(driver.pid()) + "/task/" +
                                         std::to_string(driver.pid()) + "/children"));
  for (pid_t pid = 0; children >> pid;) {
    if (status_field(pid, "Name") == kRelayName && status_field(pid, "State").front() != 'Z') {
      return pid;
    }
  }
  return 0;
}

TEST_F(Survival, TheJobGoesOnWhenItsRelayIsKilledAndNothingOfItsOutputIsLost) {
  Ends out = open_pipe();
  Ends in = open_pipe();
  const std::string path = temporary_path();
  Driver driver(copied(path, shell("echo first; while read word; do echo $word; done; exit 9")),
                {.in = in.read.get(), .out = out.write.get()});
  out.write.reset();
  in.read.reset();
  ASSERT_EQ(read_until(out.read.get(), "\n"), "first\n");
  for (const std::string word : {"second\n", "third\n"}) {
    const pid_t relay = relay_of(driver);
    ASSERT_GT(relay, 0);
    kill(relay, SIGKILL);
    ASSERT_TRUE(await([&] { return relay_of(driver) != relay && relay_of(driver) > 0; }));
    ASSERT_EQ(write(in.write.get(), word.data(), word.size()), std::ssize(word));
    EXPECT_EQ(read_until(out.read.get(), "\n"), word);
  }
  in.write.reset();
  EXPECT_EQ(read_all(out.read.get()), "");
  EXPECT_EQ(driver.wait(), 9);
  // A relay may be killed after it has written and before it has sent the copy.
  EXPECT_TRUE(read_copies(path).bytes_of("out").ends_with("third\n"));
}

TEST_F(Survival, ARelayThatIsKilledAfterTheJobsEndIsReplaced) {
  Ends out = open_pipe();
  // More than our pipe and the relay hold (4 and 64 KiB), less than with what the job's pipe holds.
  ASSERT_EQ(fcntl(out.write.get(), F_SETPIPE_SZ, 4096), 4096);
  Driver driver(shell("seq 1 13530; exit 9"), {.out = out.write.get()});
  out.write.reset();
  const std::string job = "/proc/" + std::to_string(driver.pid()) + "/task/" +
                          std::to_string(driver.pid()) + "/children";
  pid_t relay = 0;
  ASSERT_TRUE(await([&] {
    relay = relay_of(driver);
    return relay > 0 && content_of(job) == std::to_string(relay) + " ";
  }));
  kill(relay, SIGKILL);
  EXPECT_TRUE(read_all(out.read.get()).ends_with("13529\n13530\n"));
  EXPECT_EQ(driver.wait(), 9);
}

}  // namespace
}  // namespace chokepoint::capture::job
