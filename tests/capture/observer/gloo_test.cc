#include "capture/observer/gloo.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "capture/observer/observer.h"
#include "capture/observer/recorder.h"
#include "capture/packet/address_text.h"
#include "capture/source/file_source.h"
#include "tests/base/record/record_folder.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::observer {
namespace {

using fakes::kMs;

// An all-reduce's buffer of 100 bytes, as the first segment of a stream shows it.
struct Segment {
  Segment() {
    const std::array<std::uint64_t, 6> header{148, 1, std::uint64_t{4} << 56U, 0, 100, 0};
    std::memcpy(bytes.data(), header.data(), sizeof header);
    packet.time_ns = 1'000;
    packet.kind = packet::Kind::Tcp;
    packet.payload = bytes.data();
    packet.payload_bytes = 148;
    packet.captured_payload_bytes = 48;
    packet.ends.source_port = 1;
    packet.ends.destination_port = 2;
  }

  std::array<std::uint8_t, 48> bytes{};
  packet::Packet packet{};
  flow::Seen seen{.slot = 5, .is_flow = true};
};

TEST(GlooWatch, FollowsAFlowThatBeginsAsGloosDo) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  const Segment segment;
  watch.take(segment.packet, segment.seen);
  watch.finish();
  ledger.finish();
  EXPECT_EQ(ledger.connections(), 1U);
  EXPECT_EQ(ledger.messages(), 1U);
  ASSERT_EQ(ledger.sums().size(), 1U);
  EXPECT_EQ(ledger.sums()[0]->kind, gloo::Kind::AllReduce);
  EXPECT_EQ(ledger.sums()[0]->sent_bytes, 100U);
}

TEST(GlooWatch, LeavesOtherFlowsAlone) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  Segment segment;
  segment.bytes.fill('x');
  for (int i = 0; i < 10'000; ++i) {
    watch.take(segment.packet, segment.seen);
  }
  EXPECT_EQ(ledger.connections(), 0U);
}

TEST(GlooWatch, FindsTheHeaderBehindTheRestOfALargeMessage) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  Segment rest;
  rest.bytes.fill(0);
  Segment header;
  for (int i = 0; i < 100'000; ++i) {
    watch.take(rest.packet, rest.seen);
    rest.seen.offset += rest.packet.payload_bytes;
  }
  header.seen.offset = rest.seen.offset;
  watch.take(header.packet, header.seen);
  EXPECT_EQ(ledger.connections(), 1U);
  EXPECT_EQ(ledger.messages(), 1U);
}

TEST(GlooWatch, AnotherFlowInTheSameSlotIsAnotherConnection) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  Segment segment;
  watch.take(segment.packet, segment.seen);
  segment.seen.generation = 1;
  watch.take(segment.packet, segment.seen);
  EXPECT_EQ(ledger.connections(), 2U);
}

TEST(GlooWatch, WhatWasSentBeforeTheCaptureCameInIsNoStream) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  Segment segment;
  segment.seen.offset = -148;
  watch.take(segment.packet, segment.seen);
  EXPECT_EQ(ledger.connections(), 0U);
}

TEST(GlooLedger, TellsAConnectionFromTheEndThatIsHere) {
  const Segment segment;
  packet::Ends ends = segment.packet.ends;
  ends.destination.words = {1, 2};
  constexpr std::uint32_t kNone = gloo::Collectives::kNoConnection;
  GlooLedger ledger({ends.destination});
  EXPECT_THAT(ledger.connect(ends).numbers, testing::ElementsAre(kNone, 0));
  ends.source.words = {1, 2};
  EXPECT_THAT(ledger.connect(ends).numbers, testing::ElementsAre(1, kNone));
}

// Two ranks of one host: what one sends the other receives, and each has a part of its own.
TEST(GlooLedger, TellsAConnectionWithinThisHostFromBothEnds) {
  Segment segment;
  std::vector<gloo::Collective> parts;
  GlooLedger ledger(
      {segment.packet.ends.source, segment.packet.ends.destination},
      [&](const gloo::Collective& each) { parts.push_back(each); }, Joining::ByConnection);
  GlooWatch watch(ledger);
  watch.take(segment.packet, segment.seen);
  watch.finish();
  ledger.finish();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].sent_bytes(), 100U);
  EXPECT_EQ(parts[0].received_bytes(), 0U);
  EXPECT_EQ(parts[1].sent_bytes(), 0U);
  EXPECT_EQ(parts[1].received_bytes(), 100U);
}

// Real Gloo traffic from a capture to a record.
class GlooRecordTest : public record::RecordFolder {
 protected:
  // As the host with rank 0 would have it.
  record::Reader recorded(const std::string& capture) {
    const std::unique_ptr<record::Writer> writer = open_writer();
    ConnectionFlows flows;
    Recorder recorder(*writer, {.is_live = false, .connections = &flows});
    CollectiveRecorder collectives(*writer, flows, 0);
    Settings settings;
    settings.own_addresses = {packet::as_in_packets(*net::Address::parse("10.79.0.1"))};
    settings.on_collective = [&](const gloo::Collective& each) { collectives.keep(each); };
    auto source = source::open_file(std::string(CHOKEPOINT_FIXTURES "/captures/") + capture);
    const auto observer =
        Observer::make(std::move(*source), settings, [&](std::size_t) { return &recorder; });
    (*observer)->start();
    EXPECT_TRUE((*observer)->join());
    recorder.finish(*(*observer)->analysers().front());
    EXPECT_EQ(writer->close().dropped, 0U);
    return open_reader();
  }
};

TEST_F(GlooRecordTest, EachCollectiveNamesTheConnectionOfTheNeighbourThatCameLast) {
  record::Reader reader = recorded("gloo-three-ranks.pcap.zst");
  const auto flows = *reader.all<record::Flow>();
  std::vector<std::int64_t> known;
  for (const record::Flow& flow : flows) {
    known.push_back(flow.id);
  }
  const auto collectives = rows<record::Collective>(reader);
  ASSERT_FALSE(collectives.empty());
  for (const record::Collective& each : collectives) {
    EXPECT_THAT(known, testing::Contains(each.flow.value()));
    EXPECT_GE(each.own_ready_ns.value(), each.start_ns);
    EXPECT_LE(each.last_data_ns.value_or(0), each.end_ns);
  }
  EXPECT_GE(std::ranges::count_if(
                collectives,
                [](const record::Collective& each) { return each.waited_ns.value() >= 20 * kMs; }),
            2);
}

TEST_F(GlooRecordTest, PacketsAfterAPauseAreKeptAsMarks) {
  record::Reader reader = recorded("gloo-three-ranks.pcap.zst");
  std::vector<std::int64_t> known;
  const auto flows = *reader.all<record::Flow>();
  for (const record::Flow& flow : flows) {
    known.push_back(flow.id);
  }
  const auto marks = rows<record::FlowMark>(reader);
  ASSERT_FALSE(marks.empty());
  for (const record::FlowMark& mark : marks) {
    EXPECT_THAT(known, testing::Contains(mark.flow));
  }
  EXPECT_GT(std::ranges::count(marks, record::Direction::AToB, &record::FlowMark::direction), 0);
  EXPECT_GT(std::ranges::count(marks, record::Direction::BToA, &record::FlowMark::direction), 0);
}

}  // namespace
}  // namespace chokepoint::capture::observer
