#include "capture/observer/recorder.h"

#include <gmock/gmock.h>

#include "capture/observer/gloo.h"
#include "capture/observer/observer.h"
#include "tests/base/record/record_folder.h"
#include "tests/capture/observer/frames.h"

namespace chokepoint::capture::observer {
namespace {

using source::Batch;
using source::Progress;

constexpr std::int64_t kShift = 1'000'000'000'000;

class RecorderTest : public record::RecordFolder {
 protected:
  // Watches the whole of it and gives the record.
  record::Reader recorded(ScriptedSource::Next next, const flow::Limits& limits = {}) {
    const std::unique_ptr<record::Writer> writer = open_writer();
    RecorderOptions options{.wall_to_monotonic_ns = kShift, .is_live = false};
    options.own_addresses = own_addresses;
    Recorder recorder(*writer, options);
    const auto observer =
        Observer::make(std::make_unique<ScriptedSource>(std::move(next)), {.limits = limits},
                       [&](std::size_t) { return &recorder; });
    (*observer)->start();
    EXPECT_TRUE((*observer)->join());
    recorder.finish(*(*observer)->analysers().front());
    EXPECT_EQ(writer->close().dropped, 0U);
    return open_reader();
  }

  std::vector<packet::Address> own_addresses;
};

Datagram there_and_back(std::uint64_t number) {
  return number % 2 == 0 ? Datagram{.from = 1, .to = 2, .from_port = 7, .to_port = 9}
                         : Datagram{.from = 2, .to = 1, .from_port = 9, .to_port = 7};
}

TEST_F(RecorderTest, AFlowIsKeptWithItsEndsAndTimes) {
  record::Reader reader = recorded(playing(100, 10, there_and_back));
  const auto flows = *reader.all<record::Flow>();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].protocol, "udp");
  EXPECT_EQ(flows[0].a_address, "10.0.0.1");
  EXPECT_EQ(flows[0].a_port.value(), 7);
  EXPECT_EQ(flows[0].b_address, "10.0.0.2");
  EXPECT_EQ(flows[0].interface, "scripted");
  EXPECT_EQ(flows[0].start_ns.value(), kShift + 1'000);
  EXPECT_EQ(flows[0].end_ns.value(), kShift + 100'000);
  EXPECT_FALSE(flows[0].handshake_seen.known());
  EXPECT_FALSE(flows[0].local_end.known());
}

TEST_F(RecorderTest, TheEndThatIsHereIsTold) {
  packet::Packet packet;
  packet::Decoder decoder;
  const std::vector<std::uint8_t> bytes = bytes_of({.from = 2});
  const auto size = static_cast<std::uint32_t>(bytes.size());
  decoder.decode({.data = bytes.data(), .captured_bytes = size, .frame_bytes = size}, packet);
  own_addresses = {packet.ends.source};
  record::Reader reader = recorded(playing(10, 10, there_and_back));
  EXPECT_EQ(reader.all<record::Flow>()->at(0).local_end.value(), 1);
}

TEST_F(RecorderTest, SamplesSumUpToTheTotals) {
  record::Reader reader = recorded(playing(100'000, 1'000, there_and_back));
  std::int64_t packets = 0;
  std::int64_t bytes = 0;
  for (const record::FlowSample& sample : rows<record::FlowSample>(reader)) {
    EXPECT_EQ(sample.bin_ns, 10'000'000);
    EXPECT_FALSE(sample.rtt_us.known());
    packets += sample.packets.value();
    bytes += sample.bytes.value();
  }
  EXPECT_EQ(packets, 100'000);
  EXPECT_EQ(bytes, 100'000 * 50);
  const auto totals = *reader.all<record::FlowTotal>();
  EXPECT_EQ(totals.size(), 2U);
  for (const record::FlowTotal& total : totals) {
    EXPECT_EQ(total.packets.value(), 50'000);
    EXPECT_FALSE(total.retransmitted_packets.known());
  }
}

TEST_F(RecorderTest, FlowsThatMadeRoomAreKeptWhole) {
  constexpr std::uint64_t kFlows = 20;
  record::Reader reader =
      recorded(playing(1'000, 10,
                       [](std::uint64_t number) {
                         const auto port = 1'000 + number / 50;
                         return Datagram{.from_port = static_cast<std::uint16_t>(port)};
                       }),
               {.flows = 3});
  EXPECT_EQ(reader.all<record::Flow>()->size(), kFlows);
  std::int64_t packets = 0;
  for (const record::FlowSample& sample : rows<record::FlowSample>(reader)) {
    packets += sample.packets.value();
  }
  EXPECT_EQ(packets, 1'000);
  EXPECT_EQ(reader.all<record::FlowTotal>()->size(), 2 * kFlows);
}

TEST_F(RecorderTest, PacketsThatWereLostAreAnEvent) {
  record::Reader reader = recorded([](Batch& batch) -> Result<Progress> {
    batch.drops.push_back({.time_ns = 77, .by_kernel = 5, .by_interface = 2});
    return Progress::End;
  });
  const auto events = *reader.all<record::Event>();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "packets-dropped");
  EXPECT_EQ(events[0].subject, "scripted");
  EXPECT_EQ(events[0].t_ns, kShift + 77);
  EXPECT_EQ(events[0].detail, R"({"kernel":5,"interface":2})");
}

TEST_F(RecorderTest, CollectivesAreKept) {
  const std::unique_ptr<record::Writer> writer = open_writer();
  ConnectionFlows flows;
  CollectiveRecorder recorder(*writer, flows, kShift);
  gloo::Collective collective{
      .group = 1, .kind = gloo::Kind::AllReduce, .number = 42, .start_ns = 100, .end_ns = 300};
  collective.shares.push_back({.sent = {.payload_bytes = 10}, .received = {.payload_bytes = 20}});
  recorder.keep(collective);
  writer->close();
  record::Reader reader = open_reader();
  const auto kept = rows<record::Collective>(reader);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].kind, record::CollectiveKind::AllReduce);
  EXPECT_EQ(kept[0].source, record::CollectiveSource::Gloo);
  EXPECT_EQ(kept[0].number, 42);
  EXPECT_EQ(kept[0].communicator.value(), 1);
  EXPECT_EQ(kept[0].start_ns, kShift + 100);
  EXPECT_EQ(kept[0].end_ns, kShift + 300);
  EXPECT_EQ(kept[0].bytes.value(), 30);
  EXPECT_FALSE(kept[0].own_ready_ns.known());
  EXPECT_FALSE(kept[0].peer_ready_ns.known());
  EXPECT_FALSE(kept[0].first_data_ns.known());
  EXPECT_FALSE(kept[0].waited_ns.known());
  EXPECT_FALSE(kept[0].flow.known());
}

TEST_F(RecorderTest, WhoWaitedForWhomIsKept) {
  const std::unique_ptr<record::Writer> writer = open_writer();
  ConnectionFlows flows;
  flows.set({.numbers = {2, gloo::Collectives::kNoConnection}}, 9);
  CollectiveRecorder recorder(*writer, flows, kShift);
  const gloo::DirectionTraffic early{
      .send_ready_ns = 100, .receive_ready_ns = 110, .first_data_ns = 160};
  const gloo::DirectionTraffic late{
      .send_ready_ns = 150, .receive_ready_ns = 155, .last_data_ns = 300};
  recorder.keep({.shares = {{.connection = 2, .sent = early, .received = late}}});
  recorder.keep({.number = 1, .shares = {{.connection = 3, .sent = late, .received = early}}});
  writer->close();
  record::Reader reader = open_reader();
  const auto kept = rows<record::Collective>(reader);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].own_ready_ns.value(), kShift + 100);
  EXPECT_EQ(kept[0].peer_ready_ns.value(), kShift + 150);
  EXPECT_EQ(kept[0].first_data_ns.value(), kShift + 160);
  EXPECT_EQ(kept[0].last_data_ns.value(), kShift + 300);
  EXPECT_EQ(kept[0].waited_ns.value(), 50);
  EXPECT_EQ(kept[0].kept_waiting_ns.value(), 0);
  EXPECT_EQ(kept[0].flow.value(), 9);
  EXPECT_EQ(kept[1].waited_ns.value(), 0);
  EXPECT_EQ(kept[1].kept_waiting_ns.value(), 50);
  EXPECT_FALSE(kept[1].flow.known());
}

TEST_F(RecorderTest, APartTellsTheEndThatSawIt) {
  const std::unique_ptr<record::Writer> writer = open_writer();
  ConnectionFlows flows;
  flows.set({.numbers = {4, 5}}, 9);
  CollectiveRecorder recorder(*writer, flows, kShift, Joining::ByConnection);
  recorder.keep({.shares = {{.connection = 4}}});
  recorder.keep({.shares = {{.connection = 5}}});
  writer->close();
  record::Reader reader = open_reader();
  const auto kept = rows<record::Collective>(reader);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].flow.value(), 9);
  EXPECT_EQ(kept[0].communicator.value(), 0);
  EXPECT_EQ(kept[1].flow.value(), 9);
  EXPECT_EQ(kept[1].communicator.value(), 1);
}

}  // namespace
}  // namespace chokepoint::capture::observer
