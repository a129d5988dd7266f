#include "capture/socket/flow_registry.h"

#include <gmock/gmock.h>

#include <thread>

#include "capture/packet/address_text.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::capture::socket {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

packet::Ends ends_of(std::string_view source, std::uint16_t source_port,
                     std::string_view destination, std::uint16_t destination_port) {
  return {.source = packet::as_in_packets(*net::Address::parse(source)),
          .destination = packet::as_in_packets(*net::Address::parse(destination)),
          .source_port = source_port,
          .destination_port = destination_port,
          .protocol = 6};
}

packet::Ends turned(packet::Ends ends) {
  std::swap(ends.source, ends.destination);
  std::swap(ends.source_port, ends.destination_port);
  return ends;
}

record::Flow packets_row(const packet::Ends& ends) {
  return {.protocol = "tcp",
          .a_address = packet::text_of(ends.source, ends.is_ipv6),
          .a_port = ends.source_port,
          .b_address = packet::text_of(ends.destination, ends.is_ipv6),
          .b_port = ends.destination_port,
          .interface = "bond0",
          .start_ns = 5 * kSecondNs,
          .handshake_seen = 1};
}

const packet::Ends kNear = ends_of("10.0.0.1", 40'000, "10.0.0.2", 29'500);
const packet::Ends kFar = turned(kNear);
const Owner kOwner{.process = 7, .interface = "eth0", .is_job = true};

class FlowRegistryTest : public record::RecordFolder {
 protected:
  Sighting by_packets(const packet::Ends& ends, std::uint64_t key = 1) {
    return registry_.seen_by_packets(ends, 0, key, packets_row(ends));
  }
  Sighting by_sockets(const packet::Ends& ends, std::uint64_t key = 100,
                      std::int64_t start_ns = 6 * kSecondNs) {
    return registry_.seen_by_sockets(ends, 0, key, kOwner, start_ns);
  }
  // As they stand in the record.
  std::vector<record::Flow> written() {
    EXPECT_EQ(writer_->close().dropped, 0U);
    record::Reader reader = open_reader();
    return *reader.all<record::Flow>();
  }

  std::unique_ptr<record::Writer> writer_ = open_writer();
  FlowRegistry registry_{*writer_};
};

TEST_F(FlowRegistryTest, WhoseAConnectionIsIsToldBeforePacketsHaveARow) {
  const std::uint64_t before = registry_.version();
  EXPECT_FALSE(registry_.job_end(kNear, 0));
  by_sockets(kNear);
  EXPECT_NE(registry_.version(), before);
  EXPECT_TRUE(registry_.job_end(kNear, 0)->is_source);
  EXPECT_FALSE(registry_.job_end(kFar, 0)->is_source);
  EXPECT_EQ(registry_.job_end(kNear, 0)->interface, "eth0");
  EXPECT_FALSE(registry_.job_end(kNear, 4026531840));
}

TEST_F(FlowRegistryTest, AStrangersConnectionIsNoNews) {
  const std::uint64_t before = registry_.version();
  registry_.seen_by_sockets(kNear, 0, 100, {.interface = "eth0"}, kSecondNs);
  EXPECT_EQ(registry_.version(), before);
  EXPECT_FALSE(registry_.job_end(kNear, 0));
}

TEST_F(FlowRegistryTest, PacketsThenSocketsAreOneRow) {
  const Sighting packets = by_packets(kNear);
  EXPECT_FALSE(packets.entry->is_job());
  const Sighting sockets = by_sockets(kNear);
  EXPECT_EQ(packets.entry, sockets.entry);
  EXPECT_TRUE(packets.entry->is_job());
  EXPECT_FALSE(packets.is_turned);
  EXPECT_FALSE(sockets.is_turned);
  const std::vector<record::Flow> flows = written();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].id, packets.entry->flow());
  EXPECT_EQ(flows[0].a_address, "10.0.0.1");
  EXPECT_EQ(flows[0].process, 7);
  EXPECT_EQ(flows[0].interface, "eth0");
  EXPECT_EQ(flows[0].local_end, 0);
  EXPECT_EQ(flows[0].start_ns, 5 * kSecondNs);
  EXPECT_EQ(flows[0].handshake_seen, 1);
  EXPECT_FALSE(flows[0].end_ns.known());
}

TEST_F(FlowRegistryTest, SocketsThenPacketsFromTheOtherEndAreOneRow) {
  const Sighting sockets = by_sockets(kNear);
  const Sighting packets = by_packets(kFar);
  EXPECT_EQ(packets.entry, sockets.entry);
  EXPECT_TRUE(packets.is_turned);
  EXPECT_TRUE(packets.entry->is_job());
  const std::vector<record::Flow> flows = written();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].a_address, "10.0.0.1");
  EXPECT_EQ(flows[0].a_port, 40'000);
  EXPECT_EQ(flows[0].interface, "eth0");
  EXPECT_EQ(flows[0].process, 7);
  EXPECT_EQ(flows[0].start_ns, 5 * kSecondNs);
  EXPECT_EQ(flows[0].handshake_seen, 1);
}

TEST_F(FlowRegistryTest, ASocketAtTheRowsOtherEndIsTurned) {
  by_packets(kFar);
  EXPECT_TRUE(by_sockets(kNear).is_turned);
  EXPECT_EQ(written().at(0).local_end, 1);
}

TEST_F(FlowRegistryTest, NeitherSideOverwritesTheOther) {
  const Sighting sockets = by_sockets(kNear);
  const Sighting packets = by_packets(kFar);
  record::Flow row = packets_row(kFar);
  row.end_ns = 9 * kSecondNs;
  registry_.update_by_packets(*packets.entry, row);
  registry_.own(*sockets.entry, 100, {.process = 8, .interface = {}, .is_job = true});
  registry_.left_by_sockets(sockets.entry, 100, 11 * kSecondNs);
  const std::vector<record::Flow> flows = written();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].process, 8);
  EXPECT_EQ(flows[0].interface, "eth0");
  EXPECT_EQ(flows[0].local_end, 0);
  EXPECT_EQ(flows[0].start_ns, 5 * kSecondNs);
  EXPECT_EQ(flows[0].end_ns, 9 * kSecondNs);
  EXPECT_EQ(flows[0].handshake_seen, 1);
}

TEST_F(FlowRegistryTest, WhatAConnectionCarriesAndWhetherItIsTheJobsStays) {
  const Sighting seen = by_packets(kNear);
  record::Flow row = packets_row(kNear);
  row.content = "gloo";
  registry_.update_by_packets(*seen.entry, row);
  by_sockets(kNear);
  registry_.update_by_packets(*seen.entry, packets_row(kNear));
  const std::vector<record::Flow> rows = written();
  ASSERT_THAT(rows, testing::SizeIs(1));
  EXPECT_EQ(rows.front().content, "gloo");
  EXPECT_EQ(rows.front().job, record::Figure(1));
}

TEST_F(FlowRegistryTest, EachSideAloneTellsWhatItKnows) {
  record::Flow row = packets_row(kNear);
  row.local_end = 1;
  registry_.seen_by_packets(kNear, 0, 1, row);
  const packet::Ends other = ends_of("10.0.0.1", 40'001, "10.0.0.2", 29'500);
  registry_.left_by_sockets(by_sockets(other).entry, 100, 8 * kSecondNs);
  const std::vector<record::Flow> flows = written();
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].interface, "bond0");
  EXPECT_EQ(flows[0].local_end, 1);
  EXPECT_FALSE(flows[0].process.known());
  EXPECT_EQ(flows[1].protocol, "tcp");
  EXPECT_EQ(flows[1].b_address, "10.0.0.2");
  EXPECT_EQ(flows[1].b_port, 29'500);
  EXPECT_EQ(flows[1].start_ns, 6 * kSecondNs);
  EXPECT_EQ(flows[1].end_ns, 8 * kSecondNs);
  EXPECT_FALSE(flows[1].handshake_seen.known());
}

TEST_F(FlowRegistryTest, BothEndsHereAreOneRowOfNeitherEnd) {
  const Sighting near = by_sockets(kNear, 100);
  const Sighting far =
      registry_.seen_by_sockets(kFar, 0, 101, {.process = 9, .is_job = true}, 6 * kSecondNs);
  EXPECT_EQ(near.entry, far.entry);
  EXPECT_FALSE(near.is_turned);
  EXPECT_TRUE(far.is_turned);
  const std::vector<record::Flow> flows = written();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_FALSE(flows[0].local_end.known());
  EXPECT_EQ(flows[0].process, 7);
}

TEST_F(FlowRegistryTest, AConnectionToItselfIsNotTurned) {
  const packet::Ends self = ends_of("127.0.0.1", 4'000, "127.0.0.1", 4'000);
  EXPECT_FALSE(by_sockets(self).is_turned);
  EXPECT_FALSE(by_packets(self).is_turned);
  EXPECT_EQ(written().size(), 1U);
}

TEST_F(FlowRegistryTest, AnotherSocketOnThePortIsANewConnection) {
  const Sighting first = by_sockets(kNear, 100);
  by_packets(kNear, 1);
  const Sighting second = by_sockets(kNear, 101);
  EXPECT_NE(first.entry, second.entry);
  EXPECT_EQ(by_sockets(kNear, 100).entry, first.entry);
  EXPECT_EQ(by_sockets(kNear, 101).entry, second.entry);
  EXPECT_EQ(by_packets(kNear, 2).entry, second.entry);
  EXPECT_EQ(written().size(), 2U);
}

TEST_F(FlowRegistryTest, OtherPacketsOnThePortAreANewConnection) {
  const Sighting first = by_packets(kNear, 1);
  by_sockets(kNear, 100);
  registry_.left_by_packets(first.entry);
  const Sighting second = by_packets(kNear, 2);
  EXPECT_NE(first.entry, second.entry);
  EXPECT_FALSE(second.entry->is_job());
  EXPECT_EQ(by_sockets(kNear, 101).entry, second.entry);
  EXPECT_EQ(written().size(), 2U);
}

TEST_F(FlowRegistryTest, PacketsThatGoOnAreTheOpenSocketsStill) {
  const Sighting first = by_packets(kNear, 1);
  by_sockets(kNear, 100);
  record::Flow row = packets_row(kNear);
  row.end_ns = 20 * kSecondNs;
  registry_.update_by_packets(*first.entry, row);
  registry_.left_by_packets(first.entry);
  row.handshake_seen = 0;
  row.start_ns = 90 * kSecondNs;
  EXPECT_EQ(registry_.seen_by_packets(kNear, 0, 2, row).entry, first.entry);
  const std::vector<record::Flow> flows = written();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].start_ns, 5 * kSecondNs);
}

TEST_F(FlowRegistryTest, WhatClosedBeforeThePacketsWereLookedAtIsFound) {
  const Sighting sockets = by_sockets(kNear);
  registry_.left_by_sockets(sockets.entry, 100, 7 * kSecondNs);
  EXPECT_EQ(by_packets(kFar).entry, sockets.entry);
  EXPECT_EQ(written().size(), 1U);
}

TEST_F(FlowRegistryTest, WhatClosedLongBeforeIsAnother) {
  const Sighting sockets = by_sockets(kNear, 100, kSecondNs);
  registry_.left_by_sockets(sockets.entry, 100, 2 * kSecondNs);
  EXPECT_NE(by_packets(kFar).entry, sockets.entry);
}

TEST_F(FlowRegistryTest, OtherNetworksAreOthers) {
  const Sighting own = by_sockets(kNear, 100);
  const Sighting other =
      registry_.seen_by_sockets(kNear, 4'026'531'840, 101, kOwner, 6 * kSecondNs);
  EXPECT_NE(own.entry, other.entry);
  EXPECT_EQ(by_packets(kNear).entry, own.entry);
}

TEST_F(FlowRegistryTest, WhatEverybodyLeftIsForgottenInTime) {
  constexpr std::size_t kConnections = FlowRegistry::kMaxLeftEntries + 1'000;
  for (std::size_t number = 0; number < kConnections; ++number) {
    const packet::Ends ends =
        ends_of("10.0.0.1", static_cast<std::uint16_t>(number + 1), "10.0.0.2", 1);
    registry_.left_by_sockets(by_sockets(ends, number + 1).entry, number + 1, 7 * kSecondNs);
  }
  EXPECT_EQ(registry_.size(), FlowRegistry::kMaxLeftEntries);
}

TEST_F(FlowRegistryTest, ThreadsSeeOneEntryAConnection) {
  constexpr std::uint16_t kConnections = 500;
  std::vector<EntryPointer> of_packets(kConnections);
  std::vector<EntryPointer> of_sockets(kConnections);
  const auto ends_at = [](std::uint16_t number) {
    return ends_of("10.0.0.1", static_cast<std::uint16_t>(number + 1), "10.0.0.2", 1);
  };
  std::thread packets([&] {
    for (std::uint16_t number = 0; number < kConnections; ++number) {
      of_packets[number] = by_packets(ends_at(number), number + 1U).entry;
      static_cast<void>(of_packets[number]->is_job());
    }
  });
  for (std::uint16_t number = kConnections; number-- > 0;) {
    of_sockets[number] = by_sockets(ends_at(number), number + 1U).entry;
    registry_.own(*of_sockets[number], number + 1U, kOwner);
  }
  packets.join();
  EXPECT_EQ(of_packets, of_sockets);
  EXPECT_EQ(written().size(), kConnections);
}

}  // namespace
}  // namespace chokepoint::capture::socket
