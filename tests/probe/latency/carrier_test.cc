#include "probe/latency/carrier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <thread>

namespace chokepoint::probe::latency {
namespace {

// A carrier that runs, and the other end of its connection.
class RunningCarrier {
 public:
  explicit RunningCarrier(Fills fills) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    peer = sys::Descriptor(ends[1]);
    carrier =
        std::move(Carrier::make(sys::Descriptor(ends[0]), fills, [this](const SelfTime& time) {
                    times.push_back(time);
                  }).value());
    thread_ = std::thread([this] { ended = carrier->run(); });
  }
  RunningCarrier(const RunningCarrier&) = delete;
  RunningCarrier& operator=(const RunningCarrier&) = delete;
  ~RunningCarrier() { join(); }

  void join() {
    carrier->stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  // Waits for the end that the carrier finds by itself.
  void await_end() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  std::size_t read_some(std::span<std::byte> into) const {
    pollfd readable{peer.get(), POLLIN, 0};
    EXPECT_EQ(poll(&readable, 1, 10'000), 1);
    return static_cast<std::size_t>(
        std::max<ssize_t>(recv(peer.get(), into.data(), into.size(), MSG_DONTWAIT), 0));
  }

  std::unique_ptr<Carrier> carrier;
  sys::Descriptor peer;
  std::vector<SelfTime> times;  // until it has ended, the carrier's thread's
  Result<> ended;

 private:
  std::thread thread_;
};

void say(int fd, std::span<const std::byte> bytes) {
  ASSERT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

TEST(Carrier, ARequestWaitsBehindWhatIsInTheBuffer) {
  RunningCarrier running(Fills::Yes);
  for (int waiting = 0; waiting < 2 * static_cast<int>(kDataBytes);) {
    ASSERT_EQ(ioctl(running.peer.get(), FIONREAD, &waiting), 0);
    std::this_thread::yield();
  }
  ASSERT_TRUE(running.carrier->ask());

  FrameScanner scanner;
  std::uint64_t before = 0;
  std::vector<std::byte> bytes(4096);
  for (bool is_there = false; !is_there;) {
    const std::size_t got = running.read_some(bytes);
    ASSERT_GT(got, 0U);
    ASSERT_TRUE(scanner.take(std::span(bytes).first(got), [&](const Frame& frame) {
      ASSERT_EQ(frame.head.type, FrameType::Get);
      is_there = true;
      before = scanner.data_bytes();
    }));
  }
  EXPECT_GT(before, kDataBytes);
  EXPECT_EQ(before % kDataBytes, 0U) << "between two frames";
  running.join();
  EXPECT_TRUE(running.ended);
}

TEST(Carrier, AsksForALoadAndTimesAnswers) {
  RunningCarrier running(Fills::Peer);
  ASSERT_TRUE(running.carrier->ask());
  FrameScanner scanner;
  std::vector<Frame> frames;
  while (frames.size() < 2) {
    std::array<std::byte, 64> bytes{};
    const std::size_t got = running.read_some(bytes);
    ASSERT_GT(got, 0U);
    ASSERT_TRUE(scanner.take(std::span(bytes).first(got),
                             [&](const Frame& frame) { frames.push_back(frame); }));
  }
  EXPECT_EQ(frames[0].head.type, FrameType::Fill);
  EXPECT_EQ(frames[1].head.type, FrameType::Get);
  say(running.peer.get(), object_bytes(frames[1].head.number, 2500));
  running.peer.reset();
  running.await_end();
  EXPECT_TRUE(running.ended);
  ASSERT_EQ(running.times.size(), 1U);
  EXPECT_GT(running.times[0].took_ms, 0);
  EXPECT_EQ(running.times[0].path_ms, 2.5);
}

TEST(Carrier, AnswersAndCountsWhatItGets) {
  RunningCarrier running(Fills::No);
  std::vector<std::byte> data(kHeadBytes + 100);
  std::ranges::copy(bytes_of({.type = FrameType::Data, .length = 100}), data.begin());
  say(running.peer.get(), data);
  say(running.peer.get(), bytes_of({.type = FrameType::Get, .number = 77}));
  ObjectBytes answer{};
  ASSERT_EQ(running.read_some(answer), answer.size());
  EXPECT_EQ(answer, object_bytes(77, 0));
  EXPECT_EQ(running.carrier->received_bytes(), 100U);
}

TEST(Carrier, AnAnswerThatNobodyAskedForEndsIt) {
  RunningCarrier running(Fills::No);
  say(running.peer.get(), object_bytes(1, 0));
  running.await_end();
  ASSERT_FALSE(running.ended);
  EXPECT_EQ(running.ended.error().kind, ErrorKind::Malformed);
}

// Else a server could have its clients send.
TEST(Carrier, APeerThatShallFillIsNotFilled) {
  RunningCarrier running(Fills::Peer);
  say(running.peer.get(), bytes_of({.type = FrameType::Fill}));
  running.await_end();
  ASSERT_FALSE(running.ended);
  EXPECT_EQ(running.ended.error().kind, ErrorKind::Malformed);
}

// A peer that asks and never reads would have all its answers kept.
TEST(Carrier, APeerThatAsksAndNeverReadsEndsIt) {
  RunningCarrier running(Fills::No);
  fcntl(running.peer.get(), F_SETFL, 0);
  std::vector<std::byte> many;
  for (int i = 0; i < 4096; ++i) {
    const FrameHeadBytes get = bytes_of({.type = FrameType::Get, .number = 1});
    many.insert(many.end(), get.begin(), get.end());
  }
  while (send(running.peer.get(), many.data(), many.size(), MSG_NOSIGNAL) > 0) {
  }
  running.await_end();
  ASSERT_FALSE(running.ended);
  EXPECT_EQ(running.ended.error().kind, ErrorKind::Malformed);
}

}  // namespace
}  // namespace chokepoint::probe::latency
