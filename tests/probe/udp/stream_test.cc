// Senders and receivers over the loopback device of the kernel that runs.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/net/headers.h"
#include "base/net/socket.h"
#include "probe/udp/data_socket.h"
#include "probe/udp/receiver.h"
#include "probe/udp/sender.h"

namespace chokepoint::probe::udp {
namespace {

using namespace std::chrono_literals;

constexpr FlowIdentity kSentFlow{.test = 99, .run = 1, .stream = 0};

struct Pair {
  sys::Descriptor sender;
  sys::Descriptor receiver;
};

Pair connected(std::string_view address) {
  const net::Endpoint any{.address = *net::Address::parse(address)};
  Pair pair{*net::bind_udp(any, {}), *net::bind_udp(any, {})};
  EXPECT_TRUE(net::connect_udp(pair.sender.get(), *net::local_endpoint(pair.receiver.get())));
  EXPECT_TRUE(net::connect_udp(pair.receiver.get(), *net::local_endpoint(pair.sender.get())));
  EXPECT_TRUE(net::set_blocking(pair.sender.get(), 50ms, 50ms));
  EXPECT_TRUE(net::set_blocking(pair.receiver.get(), 50ms, 50ms));
  EXPECT_TRUE(prepare_sending(pair.sender.get()));
  EXPECT_TRUE(prepare_receiving(pair.receiver.get()));
  EXPECT_GT(ask_for_room(pair.receiver.get(), 8 << 20), 0);
  return pair;
}

struct Ran {
  SendOutcome sent = {};
  std::unique_ptr<FlowMeter> meter = {};
};

Ran run(const Pair& pair, const SendPlan& plan) {
  Ran ran{.meter = std::make_unique<FlowMeter>(
              kSentFlow, 100'000'000, ClockOffset{.offset_ns = 0, .uncertainty_ns = 1000})};
  ReceiveEnd end;
  ReceiveProgress received;
  Inbox inbox(pair.receiver.get());
  std::jthread receiver([&] { EXPECT_TRUE(receive_stream(inbox, *ran.meter, end, received)); });
  SendProgress progress;
  ran.sent = send_stream(pair.sender.get(), plan, end.stop, progress);
  end.expected = static_cast<std::int64_t>(ran.sent.tally.packets);
  receiver.join();
  EXPECT_EQ(progress.packets, ran.sent.tally.packets);
  EXPECT_EQ(received.packets, ran.meter->sequence().counts().received);
  return ran;
}

void expect_accounted_for(const Ran& ran) {
  const SendTally& sent = ran.sent.tally;
  EXPECT_FALSE(ran.sent.error);
  EXPECT_GT(sent.packets, 0U);
  const SequenceTracker& sequence = ran.meter->sequence();
  EXPECT_EQ(sequence.counts().received + sequence.lost(sent.packets), sent.packets);
  EXPECT_LE(ran.meter->lost_in_queue(sent.packets), sequence.lost(sent.packets));
  EXPECT_EQ(sequence.counts().duplicates, 0U);
  EXPECT_EQ(sequence.counts().out_of_order, 0U);
  EXPECT_EQ(ran.meter->foreign(), 0U);
}

TEST(Stream, APacedOneArrivesWhole) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const Pair pair = connected(address);
    const Ran ran = run(pair, {kSentFlow, 1000, 20e6, 200ms});
    expect_accounted_for(ran);
    EXPECT_EQ(ran.meter->sequence().lost(ran.sent.tally.packets), 0U);
    EXPECT_EQ(ran.meter->bytes(), ran.sent.tally.bytes);
    EXPECT_EQ(ran.sent.tally.burst->batch_packets, 1U);
    EXPECT_LE(ran.sent.tally.packets, 501U) << "never more than was asked for";
    EXPECT_GT(ran.meter->delays().count(), 0U);
    EXPECT_TRUE(ran.meter->jitter_ms());
  }
}

TEST(Stream, AsFastAsItGoesEveryPacketIsAccountedFor) {
  const Pair pair = connected("127.0.0.1");
  const Ran ran = run(pair, {kSentFlow, 1472, 0, 200ms});
  expect_accounted_for(ran);
  EXPECT_FALSE(ran.sent.tally.burst);
}

TEST(Stream, PacketsOfEverySizeInBatchesAndAlone) {
  for (const std::size_t bytes :
       {kHeadBytes, std::size_t{33}, std::size_t{9000}, net::kMaxUdpPayloadBytes}) {
    // A receiver that was too slow leaves packets behind, which would come to the next.
    const Pair pair = connected("127.0.0.1");
    const Ran ran = run(pair, {kSentFlow, bytes, 2e9, 50ms});
    expect_accounted_for(ran);
    EXPECT_EQ(ran.meter->bytes(), ran.meter->sequence().counts().received * bytes) << bytes;
  }
}

TEST(Stream, AReceiverThatIsTooSlowIsNamedAsTheOneThatLost) {
  Pair pair = connected("127.0.0.1");
  ask_for_room(pair.receiver.get(), 4096);
  SendProgress progress;
  const std::atomic<bool> stop = false;
  const SendOutcome sent =
      send_stream(pair.sender.get(), {kSentFlow, 1472, 0, 50ms}, stop, progress);
  const auto meter = std::make_unique<FlowMeter>(kSentFlow, 100'000'000, std::nullopt);
  ReceiveEnd end;
  end.expected = static_cast<std::int64_t>(sent.tally.packets);
  end.grace = 50ms;
  ReceiveProgress received;
  Inbox inbox(pair.receiver.get());
  ASSERT_TRUE(receive_stream(inbox, *meter, end, received));
  const std::uint64_t lost = meter->sequence().lost(sent.tally.packets);
  EXPECT_GT(lost, 0U);
  EXPECT_EQ(meter->lost_in_queue(sent.tally.packets), lost);
}

TEST(Stream, ToAPeerThatIsGoneItGivesUp) {
  Pair pair = connected("127.0.0.1");
  pair.receiver.reset();
  SendProgress progress;
  const std::atomic<bool> stop = false;
  const SendOutcome sent =
      send_stream(pair.sender.get(), {kSentFlow, 100, 8e6, 10s}, stop, progress);
  ASSERT_TRUE(sent.error);
  EXPECT_EQ(sent.error->kind, ErrorKind::Refused);
}

TEST(Stream, ToldToStopItStops) {
  const Pair pair = connected("127.0.0.1");
  SendProgress progress;
  const std::atomic<bool> stop = true;
  EXPECT_EQ(
      send_stream(pair.sender.get(), {kSentFlow, 100, 8e6, 10s}, stop, progress).tally.packets, 0U);
}

TEST(DataSocket, KnowsWhatThePathTakes) {
  const Pair v4 = connected("127.0.0.1");
  const Pair v6 = connected("::1");
  EXPECT_GT(largest_payload(v4.sender.get()), 1000U);
  EXPECT_LT(largest_payload(v6.sender.get()), largest_payload(v4.sender.get()));
}

}  // namespace
}  // namespace chokepoint::probe::udp
