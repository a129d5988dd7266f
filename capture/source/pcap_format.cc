#include "capture/source/pcap_format.h"

#include <algorithm>

#include "capture/source/link_type.h"
#include "capture/source/wall_clock.h"
#include "capture/source/window.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kModifiedHeadBytes = 24;

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

}  // namespace

std::unique_ptr<PcapFormat> PcapFormat::recognise(std::span<const std::uint8_t> head,
                                                  const std::string& name) {
  if (head.size() < kPcapFileHeadBytes) {
    return nullptr;
  }
  const auto order = order_of(head.data());
  if (!order) {
    return nullptr;
  }
  const auto magic = load<std::uint32_t>(head.data(), *order);
  std::unique_ptr<PcapFormat> format(new PcapFormat);
  format->order_ = *order;
  format->unit_ns_ = magic == kPcapNanoseconds ? 1 : 1000;
  format->packet_head_bytes_ = magic == kPcapModified ? kModifiedHeadBytes : kPcapPacketHeadBytes;
  format->interfaces_.push_back(
      {.name = name,
       .link_type = link_type_of(load<std::uint32_t>(head.data() + 20, *order)),
       .snapshot_bytes = load<std::uint32_t>(head.data() + 16, *order)});
  return format;
}

Consumed PcapFormat::take(std::span<const std::uint8_t> bytes, Batch& batch) {
  return order_ == ByteOrder::Own ? take_in<ByteOrder::Own>(bytes, batch)
                                  : take_in<ByteOrder::Swapped>(bytes, batch);
}

template <ByteOrder Order>
Consumed PcapFormat::take_in(std::span<const std::uint8_t> bytes, Batch& batch) {
  const packet::LinkType link_type = interfaces_.front().link_type;
  const std::uint8_t* at = bytes.data();
  const std::uint8_t* const end = at + bytes.size();
  Consumed consumed;
  batch.frames.reserve(kBatchFrames);
  while (batch.frames.size() < kBatchFrames) {
    consumed.wanted = packet_head_bytes_;
    if (static_cast<std::size_t>(end - at) < packet_head_bytes_) {
      break;
    }
    const std::size_t captured = load<std::uint32_t>(at + 8, Order);
    if (captured > kLargestFrame) {
      consumed.broken = "claims a packet of " + std::to_string(captured) + " bytes";
      break;
    }
    consumed.wanted += captured;
    if (static_cast<std::size_t>(end - at) < consumed.wanted) {
      break;
    }
    batch.frames.push_back({.time_ns = load<std::uint32_t>(at, Order) * kSecondNs +
                                       std::int64_t{load<std::uint32_t>(at + 4, Order)} * unit_ns_,
                            .data = at + packet_head_bytes_,
                            .captured_bytes = static_cast<std::uint32_t>(captured),
                            .frame_bytes = std::max(load<std::uint32_t>(at + 12, Order),
                                                    static_cast<std::uint32_t>(captured)),
                            .interface = 0,
                            .link_type = link_type});
    at += consumed.wanted;
    consumed.wanted = 0;
  }
  consumed.bytes = static_cast<std::size_t>(at - bytes.data());
  return consumed;
}

}  // namespace chokepoint::capture::source
