#include "capture/source/pcap.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kModifiedHeadBytes = 24;
constexpr std::uint32_t kVersion = 2 | 4 << 16;  // 2.4

bool is_magic(std::uint32_t number) {
  return number == kPcapMicroseconds || number == kPcapNanoseconds || number == kPcapModified;
}

std::optional<ByteOrder> order_of(const std::uint8_t* head) {
  for (const ByteOrder order : {ByteOrder::Own, ByteOrder::Swapped}) {
    if (is_magic(load<std::uint32_t>(head, order))) {
      return order;
    }
  }
  return std::nullopt;
}

// What a crash or a full disk left: billions of packets without a byte.
bool is_hole(const std::uint8_t* head) {
  return std::all_of(head, head + kPcapPacketHeadBytes,
                     [](std::uint8_t byte) { return byte == 0; });
}

class PcapFormat final : public Format {
 public:
  PcapFormat(ByteOrder order, std::uint32_t magic, Interface interface)
      : order_(order),
        unit_ns_(magic == kPcapNanoseconds ? 1 : 1000),
        packet_head_bytes_(magic == kPcapModified ? kModifiedHeadBytes : kPcapPacketHeadBytes) {
    interfaces_.push_back(std::move(interface));
  }

  Consumed take(std::span<const std::uint8_t> bytes, Batch& batch) override {
    return order_ == ByteOrder::Own ? take_in<ByteOrder::Own>(bytes, batch)
                                    : take_in<ByteOrder::Swapped>(bytes, batch);
  }

 private:
  // Flattened: else each frame is put together on the stack, and a call copies it to the batch.
  template <ByteOrder Order>
  [[gnu::flatten]] Consumed take_in(std::span<const std::uint8_t> bytes, Batch& batch) {
    const packet::LinkType link_type = interfaces_.front().link_type;
    const std::uint8_t* at = bytes.data();
    const std::uint8_t* const end = at + bytes.size();
    const std::size_t head_bytes = packet_head_bytes_;
    Consumed consumed;
    batch.frames.reserve(kBatchFrames);
    for (std::size_t room = kBatchFrames - batch.frames.size(); room > 0; --room) {
      const auto left = static_cast<std::size_t>(end - at);
      if (left < head_bytes) {
        consumed.wanted = head_bytes;
        break;
      }
      const std::size_t captured = load<std::uint32_t>(at + 8, Order);
      if (captured == 0 && is_hole(at)) {
        consumed.broken = "has zeros in place of a packet";
        break;
      }
      if (captured > kMaxFrameBytes) {
        consumed.broken = "claims a packet of " + std::to_string(captured) + " bytes";
        break;
      }
      const std::size_t packet_bytes = head_bytes + captured;
      if (left < packet_bytes) {
        consumed.wanted = packet_bytes;
        break;
      }
      batch.frames.push_back(
          {.time_ns = load<std::uint32_t>(at, Order) * kSecondNs +
                      std::int64_t{load<std::uint32_t>(at + 4, Order)} * unit_ns_,
           .data = at + head_bytes,
           .captured_bytes = static_cast<std::uint32_t>(captured),
           .frame_bytes =
               std::max(load<std::uint32_t>(at + 12, Order), static_cast<std::uint32_t>(captured)),
           .interface = 0,
           .link_type = link_type});
      at += packet_bytes;
    }
    consumed.bytes = static_cast<std::size_t>(at - bytes.data());
    return consumed;
  }

  ByteOrder order_;
  std::uint32_t unit_ns_;
  std::size_t packet_head_bytes_;
};

}  // namespace

std::unique_ptr<Format> pcap_format(std::span<const std::uint8_t> head, const std::string& name) {
  if (head.size() < kPcapFileHeadBytes) {
    return nullptr;
  }
  const auto order = order_of(head.data());
  if (!order) {
    return nullptr;
  }
  return std::make_unique<PcapFormat>(
      *order, load<std::uint32_t>(head.data(), *order),
      Interface{.name = name,
                .link_type = packet::link_type_of(load<std::uint32_t>(head.data() + 20, *order)),
                .snapshot_bytes = load<std::uint32_t>(head.data() + 16, *order)});
}

void append_pcap_head(OutputFile& file, const Interface& interface) {
  const std::array<std::uint32_t, 6> head{kPcapNanoseconds,
                                          kVersion,
                                          0,
                                          0,
                                          interface.snapshot_bytes,
                                          static_cast<std::uint32_t>(interface.link_type)};
  static_assert(sizeof(head) == kPcapFileHeadBytes);
  if (std::uint8_t* at = file.append(sizeof(head)); at != nullptr) {
    std::memcpy(at, head.data(), sizeof(head));
  }
}

void append_pcap_packet(OutputFile& file, const packet::Frame& frame) {
  const auto time_ns = static_cast<std::uint64_t>(frame.time_ns);
  const std::array<std::uint32_t, 4> head{static_cast<std::uint32_t>(time_ns / kSecondNs),
                                          static_cast<std::uint32_t>(time_ns % kSecondNs),
                                          frame.captured_bytes, frame.frame_bytes};
  static_assert(sizeof(head) == kPcapPacketHeadBytes);
  if (std::uint8_t* at = file.append(sizeof(head) + frame.captured_bytes); at != nullptr) {
    std::memcpy(at, head.data(), sizeof(head));
    std::memcpy(at + sizeof(head), frame.data, frame.captured_bytes);
  }
}

}  // namespace chokepoint::capture::source
