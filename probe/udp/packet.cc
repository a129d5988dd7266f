#include "probe/udp/packet.h"

namespace chokepoint::probe::udp {
namespace {

constexpr std::size_t kKindAt = 4;
constexpr std::size_t kStreamAt = 5;
constexpr std::size_t kRunAt = 6;
constexpr std::size_t kTestAt = 8;
constexpr std::size_t kAnsweredAt = kHeadBytes + 8;

bool is_kind(std::uint8_t value) {
  return value >= static_cast<std::uint8_t>(PacketKind::Hello) &&
         value <= static_cast<std::uint8_t>(PacketKind::Pong);
}

}  // namespace

void write_head(const PacketHead& head, std::span<std::byte> into) {
  std::byte* const at = into.data();
  wire::put(at, kMagic);
  at[kKindAt] = static_cast<std::byte>(head.kind);
  at[kStreamAt] = std::byte{head.stream};
  wire::put(at + kRunAt, head.run);
  wire::put(at + kTestAt, head.test);
  restamp(at, head.sequence, head.sent_ns);
}

std::optional<PacketHead> read_head(std::span<const std::byte> packet) {
  const std::byte* const at = packet.data();
  if (packet.size() < kHeadBytes || wire::get<std::uint32_t>(at) != kMagic ||
      !is_kind(std::to_integer<std::uint8_t>(at[kKindAt]))) {
    return std::nullopt;
  }
  return PacketHead{
      .kind = static_cast<PacketKind>(at[kKindAt]),
      .stream = std::to_integer<std::uint8_t>(at[kStreamAt]),
      .run = wire::get<std::uint16_t>(at + kRunAt),
      .test = wire::get<std::uint64_t>(at + kTestAt),
      .sequence = wire::get<std::uint64_t>(at + wire::kSequenceAt),
      .sent_ns = static_cast<std::int64_t>(wire::get<std::uint64_t>(at + wire::kSentAt))};
}

ExchangePacket secret_packet(const PacketHead& head, const Secret& secret) {
  ExchangePacket packet{};
  write_head(head, packet);
  std::memcpy(packet.data() + kHeadBytes, secret.data(), secret.size());
  return packet;
}

std::optional<Secret> secret_of(std::span<const std::byte> packet) {
  if (packet.size() < kExchangeBytes) {
    return std::nullopt;
  }
  Secret secret{};
  std::memcpy(secret.data(), packet.data() + kHeadBytes, secret.size());
  return secret;
}

ExchangePacket ping_packet(const PacketHead& head) { return secret_packet(head, Secret{}); }

ExchangePacket pong_packet(const PacketHead& ping, const PongTimes& times) {
  ExchangePacket packet{};
  PacketHead head = ping;
  head.kind = PacketKind::Pong;
  write_head(head, packet);
  wire::put(packet.data() + kHeadBytes, static_cast<std::uint64_t>(times.received_ns));
  wire::put(packet.data() + kAnsweredAt, static_cast<std::uint64_t>(times.answered_ns));
  return packet;
}

std::optional<PongTimes> pong_times(std::span<const std::byte> packet) {
  if (packet.size() < kExchangeBytes) {
    return std::nullopt;
  }
  const auto at = [&](std::size_t offset) {
    return static_cast<std::int64_t>(wire::get<std::uint64_t>(packet.data() + offset));
  };
  return PongTimes{.received_ns = at(kHeadBytes), .answered_ns = at(kAnsweredAt)};
}

}  // namespace chokepoint::probe::udp
