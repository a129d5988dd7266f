#include "tests/capture/flow/conversation.h"

namespace chokepoint::capture::flow {
namespace {

constexpr std::uint32_t kHeaderBytes = 14 + 20 + 20;
constexpr std::uint32_t kTimestampBytes = 12;

}  // namespace

packet::Packet Conversation::packet_of(const Side& from, const Side& to,
                                       std::uint32_t bytes) const {
  packet::Packet packet;
  packet.time_ns = now_ns;
  packet.interface = interface;
  packet.kind = packet::Kind::Tcp;
  packet.ends.source.words = {0, from.port};
  packet.ends.destination.words = {0, to.port};
  packet.ends.source_port = from.port;
  packet.ends.destination_port = to.port;
  packet.ends.protocol = 6;
  packet.ends.is_ipv6 = is_ipv6;
  packet.header_bytes = kHeaderBytes + (has_timestamps ? kTimestampBytes : 0);
  packet.payload_bytes = bytes;
  packet.frame_bytes = packet.header_bytes + bytes;
  packet.has_ip_id = from.has_ip_ids && !is_ipv6;
  packet.ip_id = packet.has_ip_id ? from.ip_id : std::uint16_t{0};
  packet.tcp.window = from.window;
  packet.tcp.flags = packet::kAck;
  packet.tcp.checksum = static_cast<std::uint16_t>(from.ip_id * 31U + bytes);
  if (has_timestamps) {
    packet.tcp.options |= packet::kHasTimestamps;
    packet.tcp.timestamp = static_cast<std::uint32_t>(now_ns / 1'000'000);
  }
  return packet;
}

void Conversation::handshake(std::int64_t round_trip_us) {
  const auto open = [this](Side& from, const Side& to, std::uint8_t flags) {
    packet::Packet packet = packet_of(from, to, 0);
    packet.tcp.flags = flags;
    packet.tcp.sequence = from.initial_sequence;
    packet.tcp.acknowledgement = (flags & packet::kAck) != 0 ? to.initial_sequence + 1 : 0;
    packet.tcp.mss = mss;
    packet.tcp.window_scale = from.window_scale;
    packet.tcp.options |= packet::kHasMss | packet::kHasWindowScale | packet::kHasSackPermitted;
    ++from.ip_id;
    take(packet);
  };
  open(client, server, packet::kSyn);
  wait_us(round_trip_us);
  open(server, client, packet::kSyn | packet::kAck);
  packet::Packet last = packet_of(client, server, 0);
  last.tcp.sequence = client.initial_sequence + 1;
  last.tcp.acknowledgement = server.initial_sequence + 1;
  ++client.ip_id;
  take(last);
}

packet::Packet Conversation::data_packet(std::uint32_t offset, std::uint32_t bytes) {
  packet::Packet packet = packet_of(client, server, bytes);
  packet.tcp.sequence = client.initial_sequence + 1 + offset;
  packet.tcp.acknowledgement = server.initial_sequence + 1;
  ++client.ip_id;
  return packet;
}

packet::Packet Conversation::ack_packet(std::uint32_t offset) {
  packet::Packet packet = packet_of(server, client, 0);
  packet.tcp.sequence = server.initial_sequence + 1;
  packet.tcp.acknowledgement = client.initial_sequence + 1 + offset;
  ++server.ip_id;
  return packet;
}

Seen Conversation::data(std::uint32_t offset, std::uint32_t bytes) {
  return take(data_packet(offset, bytes));
}

Seen Conversation::ack(std::uint32_t offset,
                       std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> blocks) {
  packet::Packet packet = ack_packet(offset);
  for (const auto& [begin, end] : blocks) {
    packet.tcp.sack[packet.tcp.sack_blocks++] = {client.initial_sequence + 1 + begin,
                                                 client.initial_sequence + 1 + end};
  }
  return take(packet);
}

Seen Conversation::reply(std::uint32_t offset, std::uint32_t bytes) {
  packet::Packet packet = packet_of(server, client, bytes);
  packet.tcp.sequence = server.initial_sequence + 1 + offset;
  packet.tcp.acknowledgement = client.initial_sequence + 1;
  ++server.ip_id;
  return take(packet);
}

Seen Conversation::take(const packet::Packet& packet) {
  packet::Packet taken = packet;
  taken.time_ns = now_ns;
  taken.interface = interface;
  return engine.take(taken);
}

FlowFacts Conversation::facts() const {
  FlowFacts newest;
  engine.visit([&newest](std::uint32_t, const FlowFacts& facts) { newest = facts; });
  return newest;
}

}  // namespace chokepoint::capture::flow
