#include "capture/observer/observer.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "tests/capture/observer/frames.h"

namespace chokepoint::capture::observer {
namespace {

using source::Batch;
using source::Progress;

constexpr std::chrono::milliseconds kLong{60'000};

std::unique_ptr<Observer> observer_of(ScriptedSource::Next next, const Settings& settings = {},
                                      FlowListener* listener = nullptr, Keep keep = {}) {
  auto made = Observer::make(
      std::make_unique<ScriptedSource>(std::move(next)), settings,
      [=](std::size_t analyser) { return analyser == 0 ? listener : nullptr; }, std::move(keep));
  EXPECT_TRUE(made);
  return std::move(*made);
}

bool is_over(const Observer& observer) {
  pollfd watched{observer.descriptor(), POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

// Of all flows: packets by the port of a, and by the port of b.
std::map<std::uint16_t, std::uint64_t> packets_by_port(const Observer& observer) {
  std::map<std::uint16_t, std::uint64_t> packets;
  for (const auto& analyser : observer.analysers()) {
    analyser->engine().visit([&](std::uint32_t, const flow::FlowFacts& facts) {
      packets[facts.ends.source_port] += facts.directions[0].packets;
      packets[facts.ends.destination_port] += facts.directions[1].packets;
    });
  }
  return packets;
}

class ThreadsOfAnObserver : public testing::TestWithParam<std::size_t> {
 protected:
  Settings settings() const { return {.threads = GetParam()}; }
};

INSTANTIATE_TEST_SUITE_P(One, ThreadsOfAnObserver, testing::Values(1));
INSTANTIATE_TEST_SUITE_P(Two, ThreadsOfAnObserver, testing::Values(2));
INSTANTIATE_TEST_SUITE_P(Four, ThreadsOfAnObserver, testing::Values(4));

TEST_P(ThreadsOfAnObserver, EveryPacketIsAnalysedOnce) {
  constexpr std::uint64_t kFrames = 10'000;
  constexpr std::uint64_t kFlows = 50;
  const auto observer =
      observer_of(playing(kFrames, 37,
                          [](std::uint64_t number) {
                            const auto port = static_cast<std::uint16_t>(1'000 + number % kFlows);
                            return Datagram{.from_port = port,
                                            .to_port = static_cast<std::uint16_t>(port + 1'000)};
                          }),
                  settings());
  observer->start();
  EXPECT_TRUE(observer->join());
  const auto packets = packets_by_port(*observer);
  for (std::uint16_t port = 1'000; port < 1'000 + kFlows; ++port) {
    EXPECT_EQ(packets.at(port), kFrames / kFlows);
  }
  EXPECT_EQ(observer->progress().now().frames, kFrames);
  EXPECT_TRUE(is_over(*observer));
}

TEST_P(ThreadsOfAnObserver, BothDirectionsOfAFlowMeet) {
  const auto observer = observer_of(
      playing(1'000, 10,
              [](std::uint64_t number) {
                const auto port = static_cast<std::uint16_t>(1'000 + number / 2 % 20);
                return number % 2 == 0
                           ? Datagram{.from = 1, .to = 2, .from_port = port, .to_port = 53}
                           : Datagram{.from = 2, .to = 1, .from_port = 53, .to_port = port};
              }),
      settings());
  observer->start();
  EXPECT_TRUE(observer->join());
  std::size_t flows = 0;
  for (const auto& analyser : observer->analysers()) {
    analyser->engine().visit([&](std::uint32_t, const flow::FlowFacts& facts) {
      EXPECT_EQ(facts.directions[0].packets, 25U);
      EXPECT_EQ(facts.directions[1].packets, 25U);
      ++flows;
    });
  }
  EXPECT_EQ(flows, 20U);
}

TEST_P(ThreadsOfAnObserver, AnErrorComesAfterEverythingBeforeIt) {
  auto frames = playing(30, 10, [](std::uint64_t) { return Datagram{}; });
  const auto observer = observer_of(
      [frames, batches = 0](Batch& batch) mutable -> Result<Progress> {
        if (++batches > 2) {
          return fail(ErrorKind::Io, "read", "a disk", "is broken");
        }
        return frames(batch);
      },
      settings());
  observer->start();
  const Result<> ended = observer->join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(describe(ended.error()), "read: a disk: is broken");
  EXPECT_EQ(packets_by_port(*observer).at(1'000), 20U);
}

TEST_P(ThreadsOfAnObserver, EndsWhereItIsStopped) {
  auto frames = playing(1'000'000'000, 10, [](std::uint64_t) { return Datagram{}; });
  std::uint64_t handed_out = 0;
  const auto observer = observer_of(
      [&](Batch& batch) {
        const Result<Progress> progress = frames(batch);
        handed_out += batch.frames.size();
        return progress;
      },
      settings());
  observer->start();
  while (observer->progress().now().frames == 0) {
    std::this_thread::yield();
  }
  observer->stop();
  EXPECT_TRUE(observer->join());
  EXPECT_EQ(packets_by_port(*observer).at(1'000), handed_out);
}

TEST_P(ThreadsOfAnObserver, EndsAfterSoManyFrames) {
  Settings wanted = settings();
  wanted.most_frames = 25;
  const auto observer =
      observer_of(playing(1'000, 10, [](std::uint64_t) { return Datagram{}; }), wanted);
  observer->start();
  EXPECT_TRUE(observer->join());
  EXPECT_EQ(packets_by_port(*observer).at(1'000), 25U);
}

TEST_P(ThreadsOfAnObserver, EndsAfterSoLong) {
  Settings wanted = settings();
  wanted.most_time = std::chrono::microseconds(99);
  const auto observer =
      observer_of(playing(1'000, 7, [](std::uint64_t) { return Datagram{}; }), wanted);
  observer->start();
  EXPECT_TRUE(observer->join());
  EXPECT_EQ(packets_by_port(*observer).at(1'000), 100U);
}

TEST_P(ThreadsOfAnObserver, FlowsCanBeLookedAtMeanwhile) {
  auto frames = playing(1'000'000'000, 10, [](std::uint64_t) { return Datagram{}; });
  const auto observer = observer_of(frames, settings());
  observer->start();
  std::size_t flows = 0;
  while (flows == 0) {
    EXPECT_TRUE(observer->inspect(
        [&](const Analyser& analyser) { flows += analyser.engine().flows(); }, kLong));
  }
  EXPECT_EQ(flows, 1U);
  observer->stop();
  EXPECT_TRUE(observer->join());
}

TEST_P(ThreadsOfAnObserver, KeepsWhatItReads) {
  std::uint64_t kept = 0;
  const auto observer = observer_of(
      playing(100, 10, [](std::uint64_t) { return Datagram{}; }), settings(), nullptr,
      [&](const Batch& batch, const std::vector<source::Interface>& interfaces) -> Result<> {
        EXPECT_EQ(interfaces.front().name, "scripted");
        kept += batch.frames.size();
        return {};
      });
  observer->start();
  EXPECT_TRUE(observer->join());
  EXPECT_EQ(kept, 100U);
}

TEST_P(ThreadsOfAnObserver, EndsWhereNothingCanBeKept) {
  const auto observer =
      observer_of(playing(1'000'000'000, 10, [](std::uint64_t) { return Datagram{}; }), settings(),
                  nullptr, [](const Batch&, const std::vector<source::Interface>&) -> Result<> {
                    return fail(ErrorKind::Exhausted, "write", "a.pcap", "the disk is full");
                  });
  observer->start();
  const Result<> ended = observer->join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::Exhausted);
}

// Remembers what it was told.
class Memory final : public FlowListener {
 public:
  void on_drop(Analyser&, const source::Drop& drop) override { drops.push_back(drop); }
  void on_fold(Analyser&, std::uint32_t, const flow::FlowFacts& facts) override {
    folded_ports.push_back(facts.ends.source_port);
  }
  void on_gloo(Analyser&, std::uint32_t, const GlooLedger::Connection&) override {}
  void on_content(Analyser&, std::uint32_t, traffic::Content) override {}
  void after_batch(Analyser& analyser) override {
    ++batches;
    flows = analyser.engine().flows();
  }

  std::vector<source::Drop> drops;
  std::vector<std::uint16_t> folded_ports;
  std::size_t batches = 0;
  std::size_t flows = 0;
};

TEST_P(ThreadsOfAnObserver, TellsItsWitness) {
  Settings wanted = settings();
  wanted.limits.flows = 2 * (GetParam() == 4 ? 3 : 1);
  auto frames = playing(90, 30, [](std::uint64_t number) {
    return Datagram{.from_port = static_cast<std::uint16_t>(1'000 + number)};
  });
  Memory memory;
  const auto observer = observer_of(
      [&](Batch& batch) {
        const Result<Progress> progress = frames(batch);
        batch.drops.push_back({.time_ns = 5, .by_kernel = 7, .by_interface = 1});
        return progress;
      },
      wanted, &memory);
  observer->start();
  EXPECT_TRUE(observer->join());
  EXPECT_EQ(memory.drops.size(), 3U);
  EXPECT_EQ(memory.batches, 3U);
  EXPECT_EQ(memory.flows, 2U);
  EXPECT_EQ(memory.folded_ports.size(), observer->analysers()[0]->engine().remainder().flows);
  EXPECT_EQ(observer->progress().now().dropped_by_kernel, 21U);
  EXPECT_EQ(observer->progress().now().dropped_by_interface, 3U);
}

packet::Packet packet_of(std::uint64_t from, std::uint64_t to, std::uint16_t from_port,
                         std::uint16_t to_port) {
  packet::Packet packet;
  packet.kind = packet::Kind::Tcp;
  packet.ends.source.words = {0, from};
  packet.ends.destination.words = {0, to};
  packet.ends.source_port = from_port;
  packet.ends.destination_port = to_port;
  return packet;
}

TEST(Spread, BothDirectionsBelongTogether) {
  for (std::uint16_t port = 1; port < 1'000; ++port) {
    EXPECT_EQ(spread(packet_of(5, 6, port, 80), 7), spread(packet_of(6, 5, 80, port), 7));
  }
}

TEST(Spread, FlowsBetweenTwoHostsAreSpreadEvenly) {
  std::array<int, 4> counts{};
  for (std::uint16_t port = 0; port < 4'000; ++port) {
    ++counts.at(spread(packet_of(5, 6, port, 80), counts.size()));
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 1'000, 250);
  }
}

TEST(Spread, OfRoceOnlyTheHostsCount) {
  packet::Packet there = packet_of(5, 6, 49'152, 4'791);
  packet::Packet back = packet_of(6, 5, 50'000, 4'791);
  there.kind = back.kind = packet::Kind::Roce;
  EXPECT_EQ(spread(there, 5), spread(back, 5));
}

}  // namespace
}  // namespace chokepoint::capture::observer
