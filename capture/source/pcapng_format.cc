#include "capture/source/pcapng_format.h"

#include <algorithm>
#include <optional>
#include <string>

#include "capture/source/pcapng_options.h"
#include "capture/source/window.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kBlockOverhead = 12;
constexpr std::size_t kLargestBlock = kLargestFrame + 4096;
constexpr std::size_t kPacketHead = 20;
constexpr std::size_t kSimplePacketHead = 4;
constexpr std::uint16_t kDropsUnknown = 0xffff;
constexpr const char* kTooShort = "has a packet that does not fit into its block";
constexpr const char* kNoInterface = "has a packet of an interface that it does not describe";
constexpr std::uint16_t kDropsBeforePacket = 4;

BlockType type_at(const std::uint8_t* block, ByteOrder order) {
  return static_cast<BlockType>(load<std::uint32_t>(block, order));
}

std::optional<ByteOrder> section_order(const std::uint8_t* block) {
  for (const ByteOrder order : {ByteOrder::Own, ByteOrder::Swapped}) {
    if (type_at(block, order) == BlockType::Section &&
        load<std::uint32_t>(block + 8, order) == kPcapngByteOrderMagic) {
      return order;
    }
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<PcapngFormat> PcapngFormat::recognise(std::span<const std::uint8_t> head) {
  const bool begins = head.size() >= kBlockOverhead && section_order(head.data());
  return begins ? std::make_unique<PcapngFormat>() : nullptr;
}

// Goes on where walk() met a section in the other byte order.
Consumed PcapngFormat::take(std::span<const std::uint8_t> bytes, Batch& batch) {
  batch.frames.reserve(kBatchFrames);
  Consumed consumed;
  while (consumed.wanted == 0 && consumed.broken.empty() && batch.frames.size() < kBatchFrames) {
    consumed = section_.order() == ByteOrder::Own
                   ? walk<ByteOrder::Own>(bytes, consumed.bytes, batch)
                   : walk<ByteOrder::Swapped>(bytes, consumed.bytes, batch);
  }
  return consumed;
}

bool PcapngFormat::begin_section(const std::uint8_t* block) {
  const auto order = section_order(block);
  section_ = PcapngSection(order.value_or(section_.order()));
  return order.has_value();
}

template <ByteOrder Order>
Consumed PcapngFormat::walk(std::span<const std::uint8_t> bytes, std::size_t at, Batch& batch) {
  while (batch.frames.size() < kBatchFrames) {
    const Body rest = bytes.subspan(at);
    if (rest.size() < kBlockOverhead) {
      return {.bytes = at, .wanted = kBlockOverhead};
    }
    const BlockType type = type_at(rest.data(), Order);
    if (type == BlockType::Section && !begin_section(rest.data())) {
      return {.bytes = at, .broken = "has a section in no known byte order"};
    }
    if (section_.order() != Order) {
      break;
    }
    const std::size_t length = load<std::uint32_t>(rest.data() + 4, Order);
    if (length < kBlockOverhead || length % 4 != 0 || length > kLargestBlock) {
      return {.bytes = at, .broken = "claims a block of " + std::to_string(length) + " bytes"};
    }
    if (rest.size() < length) {
      return {.bytes = at, .wanted = length};
    }
    const Body body = rest.subspan(8, length - kBlockOverhead);
    const char* wrong = take_block<Order>(type, body, batch);
    if (load<std::uint32_t>(rest.data() + length - 4, Order) != length) {
      wrong = "has a block with a different length at its end";
    }
    if (wrong != nullptr) {
      return {.bytes = at, .broken = wrong};
    }
    at += length;
  }
  return {.bytes = at};
}

template <ByteOrder Order>
const char* PcapngFormat::take_block(BlockType type, Body body, Batch& batch) {
  switch (type) {
    case BlockType::Packet:
      return take_packet<Order>(body, batch);
    case BlockType::OldPacket:
      return take_old_packet<Order>(body, batch);
    case BlockType::SimplePacket:
      return take_simple_packet<Order>(body, batch);
    case BlockType::Interface:
      return section_.describe_interface(body, interfaces_) ? nullptr
                                                            : "describes an interface wrongly";
    case BlockType::Statistics:
      return section_.count_drops(body, batch.drops) ? nullptr : "has statistics of no interface";
    default:
      return nullptr;
  }
}

template <ByteOrder Order>
const char* PcapngFormat::take_packet(Body body, Batch& batch) {
  if (body.size() < kPacketHead) {
    return kTooShort;
  }
  const auto interface = load<std::uint32_t>(body.data(), Order);
  const std::size_t captured = load<std::uint32_t>(body.data() + 12, Order);
  const char* const wrong = add<Order>(interface, body, batch);
  const std::size_t options = kPacketHead + (captured + 3) / 4 * 4;
  if (wrong == nullptr && options < body.size()) {
    for_each_option(body.subspan(options), Order, [&](const PcapngOption& option) {
      const auto count = option.number<std::uint64_t>(Order).value_or(0);
      if (option.code == kDropsBeforePacket && count > 0) {
        batch.drops.push_back({.time_ns = last_time_ns_,
                               .interface = section_.interfaces()[interface].index,
                               .by_kernel = count});
      }
    });
  }
  return wrong;
}

template <ByteOrder Order>
const char* PcapngFormat::take_old_packet(Body body, Batch& batch) {
  if (body.size() < kPacketHead) {
    return kTooShort;
  }
  const auto interface = load<std::uint16_t>(body.data(), Order);
  const auto drops = load<std::uint16_t>(body.data() + 2, Order);
  const char* const wrong = add<Order>(interface, body, batch);
  if (wrong == nullptr && drops > 0 && drops != kDropsUnknown) {
    batch.drops.push_back({.time_ns = last_time_ns_,
                           .interface = section_.interfaces()[interface].index,
                           .by_kernel = drops});
  }
  return wrong;
}

// What both kinds of packet with a head have in common.
template <ByteOrder Order>
const char* PcapngFormat::add(std::uint32_t interface, Body body, Batch& batch) {
  const std::uint32_t captured = load<std::uint32_t>(body.data() + 12, Order);
  if (captured > body.size() - kPacketHead) {
    return kTooShort;
  }
  if (interface >= section_.interfaces().size()) {
    return kNoInterface;
  }
  const SectionInterface& known = section_.interfaces()[interface];
  const std::uint64_t high = load<std::uint32_t>(body.data() + 4, Order);
  last_time_ns_ = known.unit.ns(high << 32 | load<std::uint32_t>(body.data() + 8, Order));
  batch.frames.push_back(
      {.time_ns = last_time_ns_,
       .data = body.data() + kPacketHead,
       .captured_bytes = captured,
       .frame_bytes = std::max(load<std::uint32_t>(body.data() + 16, Order), captured),
       .interface = known.index,
       .link_type = known.link_type});
  return nullptr;
}

template <ByteOrder Order>
const char* PcapngFormat::take_simple_packet(Body body, Batch& batch) {
  if (body.size() < kSimplePacketHead) {
    return kTooShort;
  }
  if (section_.interfaces().empty()) {
    return kNoInterface;
  }
  const SectionInterface& known = section_.interfaces().front();
  const auto length = load<std::uint32_t>(body.data(), Order);
  const std::size_t there = body.size() - kSimplePacketHead;
  const std::size_t captured = std::min<std::size_t>({length, known.snapshot_bytes, there});
  batch.frames.push_back({.time_ns = last_time_ns_,
                          .data = body.data() + kSimplePacketHead,
                          .captured_bytes = static_cast<std::uint32_t>(captured),
                          .frame_bytes = length,
                          .interface = known.index,
                          .link_type = known.link_type});
  return nullptr;
}

}  // namespace chokepoint::capture::source
