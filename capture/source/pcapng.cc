#include "capture/source/pcapng.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kMaxInterfaceName = 128;

enum InterfaceOption : std::uint16_t { kNameOption = 2, kResolutionOption = 9, kOffsetOption = 14 };
enum StatisticsOption : std::uint16_t { kDroppedByInterfaceOption = 5, kDroppedByKernelOption = 7 };

struct PcapngOption {
  std::uint16_t code = 0;
  std::span<const std::uint8_t> value = {};

  // nullopt if the value is too short for one.
  template <class Number>
  std::optional<Number> number(ByteOrder order) const {
    return value.size() < sizeof(Number) ? std::nullopt
                                         : std::optional(load<Number>(value.data(), order));
  }
};

// Up to "end of options", or an option that does not fit.
template <class Visit>
void for_each_option(std::span<const std::uint8_t> options, ByteOrder order, Visit visit) {
  constexpr std::size_t kHead = 4;
  while (options.size() >= kHead) {
    const auto code = load<std::uint16_t>(options.data(), order);
    const std::size_t length = load<std::uint16_t>(options.data() + 2, order);
    const std::size_t padded = kHead + (length + 3) / 4 * 4;
    if (code == 0 || padded > options.size()) {
      return;
    }
    visit(PcapngOption{.code = code, .value = options.subspan(kHead, length)});
    options = options.subspan(padded);
  }
}

__extension__ using Wide = unsigned __int128;

constexpr std::uint8_t kPowerOfTwo = 0x80;
constexpr unsigned kDecimalsOfNs = 9;
constexpr unsigned kMaxDecimals = 19;  // of a power of ten in 64 bits

std::uint64_t power_of_ten(unsigned exponent) {
  std::uint64_t power = 1;
  for (unsigned i = 0; i < exponent; ++i) {
    power *= 10;
  }
  return power;
}

constexpr std::size_t kDescriptionBytes = 8;
constexpr std::size_t kStatisticsBytes = 12;

std::string name_in(std::span<const std::uint8_t> value) {
  const auto name = value.first(std::min(value.size(), kMaxInterfaceName));
  return {name.begin(), std::ranges::find(name, '\0')};
}

// Counters count from the beginning of the capture; one that went back was restarted.
std::uint64_t newly(std::uint64_t now, std::uint64_t& before) {
  const std::uint64_t last = std::exchange(before, now);
  return now > last ? now - last : 0;
}

// What a section says before and beside its packets: its byte order and its interfaces, with their
// units of time and drop counters. A new section begins with no interface.
struct SectionInterface {
  std::uint32_t index = 0;  // among those of the whole file
  packet::LinkType link_type = packet::LinkType::Ethernet;
  std::uint32_t snapshot_bytes = UINT32_MAX;
  TimeUnit unit = {};
  std::uint64_t dropped_by_kernel = 0;
  std::uint64_t dropped_by_interface = 0;
};

class PcapngSection {
 public:
  explicit PcapngSection(ByteOrder order = ByteOrder::Own) : order_(order) {}

  ByteOrder order() const { return order_; }
  const std::vector<SectionInterface>& interfaces() const { return interfaces_; }

  // The body of an interface description; also adds to the file's interfaces. False if it is too
  // short, or one too many.
  bool describe_interface(std::span<const std::uint8_t> body, std::vector<Interface>& all) {
    if (body.size() < kDescriptionBytes || all.size() >= kMaxInterfaces) {
      return false;
    }
    const auto snapshot = load<std::uint32_t>(body.data() + 4, order_);
    Interface described{.link_type = packet::link_type_of(load<std::uint16_t>(body.data(), order_)),
                        .snapshot_bytes = snapshot};
    SectionInterface known{.index = static_cast<std::uint32_t>(all.size()),
                           .link_type = described.link_type,
                           .snapshot_bytes = snapshot > 0 ? snapshot : UINT32_MAX};
    std::int64_t offset = 0;
    for_each_option(body.subspan(kDescriptionBytes), order_, [&](const PcapngOption& option) {
      if (option.code == kNameOption) {
        described.name = name_in(option.value);
      } else if (option.code == kResolutionOption && !option.value.empty()) {
        known.unit = TimeUnit::of_resolution(option.value.front());
      } else if (option.code == kOffsetOption) {
        offset = option.number<std::int64_t>(order_).value_or(0);
      }
    });
    known.unit.set_offset(offset);
    interfaces_.push_back(known);
    all.push_back(std::move(described));
    return true;
  }

  // The body of an interface's statistics. False if it is too short or names no interface.
  bool count_drops(std::span<const std::uint8_t> body, std::vector<Drop>& drops) {
    if (body.size() < kStatisticsBytes) {
      return false;
    }
    const auto index = load<std::uint32_t>(body.data(), order_);
    if (index >= interfaces_.size()) {
      return false;
    }
    SectionInterface& interface = interfaces_[index];
    const std::uint64_t ticks = std::uint64_t{load<std::uint32_t>(body.data() + 4, order_)} << 32 |
                                load<std::uint32_t>(body.data() + 8, order_);
    Drop drop{.time_ns = interface.unit.ns(ticks), .interface = interface.index};
    for_each_option(body.subspan(kStatisticsBytes), order_, [&](const PcapngOption& option) {
      const auto count = option.number<std::uint64_t>(order_);
      if (count && option.code == kDroppedByInterfaceOption) {
        drop.by_interface = newly(*count, interface.dropped_by_interface);
      } else if (count && option.code == kDroppedByKernelOption) {
        drop.by_kernel = newly(*count, interface.dropped_by_kernel);
      }
    });
    if (drop.by_kernel > 0 || drop.by_interface > 0) {
      drops.push_back(drop);
    }
    return true;
  }

 private:
  ByteOrder order_;
  std::vector<SectionInterface> interfaces_;
};

constexpr std::size_t kBlockOverhead = 12;
constexpr std::size_t kMaxBlockBytes = kMaxFrameBytes + 4096;
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

class PcapngFormat final : public Format {
 public:
  // Continues where walk() stopped at a section in the other byte order.
  Consumed take(std::span<const std::uint8_t> bytes, Batch& batch) override {
    batch.frames.reserve(kBatchFrames);
    Consumed consumed;
    while (consumed.wanted == 0 && consumed.broken.empty() && batch.frames.size() < kBatchFrames) {
      consumed = section_.order() == ByteOrder::Own
                     ? walk<ByteOrder::Own>(bytes, consumed.bytes, batch)
                     : walk<ByteOrder::Swapped>(bytes, consumed.bytes, batch);
    }
    return consumed;
  }

 private:
  using Body = std::span<const std::uint8_t>;

  template <ByteOrder Order>
  Consumed walk(std::span<const std::uint8_t> bytes, std::size_t at, Batch& batch) {
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
      if (length < kBlockOverhead || length % 4 != 0 || length > kMaxBlockBytes) {
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

  bool begin_section(const std::uint8_t* block) {
    const auto order = section_order(block);
    section_ = PcapngSection(order.value_or(section_.order()));
    return order.has_value();
  }

  // These return what is wrong with the block; null: nothing.
  template <ByteOrder Order>
  const char* take_block(BlockType type, Body body, Batch& batch) {
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
  const char* take_packet(Body body, Batch& batch) {
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
  const char* take_old_packet(Body body, Batch& batch) {
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

  template <ByteOrder Order>
  const char* take_simple_packet(Body body, Batch& batch) {
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

  // What both kinds of packet with a head have in common.
  template <ByteOrder Order>
  const char* add(std::uint32_t interface, Body body, Batch& batch) {
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

  PcapngSection section_;
  std::int64_t last_time_ns_ = 0;
};

constexpr std::uint32_t kEndOfOptions = 0;
constexpr std::uint32_t kUnknownLength = 0xffff'ffff;

// code │ length << 16, as they lie in memory in this machine's byte order.
constexpr std::uint32_t option_head(std::uint32_t code, std::uint32_t length) {
  return std::endian::native == std::endian::little ? code | length << 16 : code << 16 | length;
}

constexpr std::uint32_t kResolutionHead = option_head(kResolutionOption, 1);
constexpr std::uint32_t kDroppedByInterfaceHead = option_head(kDroppedByInterfaceOption, 8);
constexpr std::uint32_t kDroppedByKernelHead = option_head(kDroppedByKernelOption, 8);

std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// A block of this head, these bytes with their padding, and this tail.
void append_block(OutputFile& file, BlockType type, std::span<const std::uint32_t> head,
                  std::span<const std::uint8_t> bytes, std::span<const std::uint32_t> tail = {}) {
  const std::size_t length =
      kBlockOverhead + head.size_bytes() + padded(bytes.size()) + tail.size_bytes();
  std::uint8_t* at = file.append(length);
  if (at == nullptr) {
    return;
  }
  const std::array<std::uint32_t, 2> begin{static_cast<std::uint32_t>(type),
                                           static_cast<std::uint32_t>(length)};
  const auto put = [&at](const void* from, std::size_t size) {
    if (size > 0) {
      std::memcpy(at, from, size);
    }
    at += size;
  };
  put(begin.data(), sizeof(begin));
  put(head.data(), head.size_bytes());
  put(bytes.data(), bytes.size());
  constexpr std::uint32_t kPadding = 0;
  put(&kPadding, padded(bytes.size()) - bytes.size());
  put(tail.data(), tail.size_bytes());
  put(&begin[1], sizeof(std::uint32_t));
}

std::uint32_t upper(std::uint64_t number) { return static_cast<std::uint32_t>(number >> 32); }
std::uint32_t lower(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

std::array<std::uint32_t, 2> as_words(std::uint64_t number) {
  std::array<std::uint32_t, 2> words{};
  std::memcpy(words.data(), &number, sizeof(number));
  return words;
}

}  // namespace

TimeUnit TimeUnit::of_resolution(std::uint8_t resolution) {
  TimeUnit unit;
  const unsigned exponent = resolution & (kPowerOfTwo - 1U);
  if ((resolution & kPowerOfTwo) != 0) {
    unit.factor_ = 0;
    unit.shift_ = exponent;
  } else if (exponent <= kDecimalsOfNs) {
    unit.factor_ = power_of_ten(kDecimalsOfNs - exponent);
  } else {
    unit.factor_ = 0;
    // Finer than this, 64 bits hold less than a nanosecond.
    const bool known = exponent - kDecimalsOfNs <= kMaxDecimals;
    unit.divisor_ = known ? power_of_ten(exponent - kDecimalsOfNs) : UINT64_MAX;
  }
  return unit;
}

std::uint64_t TimeUnit::fraction(std::uint64_t ticks) const {
  if (divisor_ > 0) {
    return ticks / divisor_;
  }
  return static_cast<std::uint64_t>(Wide{ticks} * 1'000'000'000U >> shift_);
}

std::unique_ptr<Format> pcapng_format(std::span<const std::uint8_t> head) {
  const bool begins = head.size() >= kBlockOverhead && section_order(head.data());
  return begins ? std::make_unique<PcapngFormat>() : nullptr;
}

void append_pcapng_head(OutputFile& file) {
  const std::array<std::uint32_t, 4> head{kPcapngByteOrderMagic, option_head(1, 0), kUnknownLength,
                                          kUnknownLength};
  append_block(file, BlockType::Section, head, {});
}

void append_pcapng_interface(OutputFile& file, const Interface& interface) {
  const std::size_t length = std::min(interface.name.size(), kMaxInterfaceName);
  const std::array<std::uint32_t, 3> head{
      option_head(static_cast<std::uint32_t>(interface.link_type), 0), interface.snapshot_bytes,
      option_head(kNameOption, static_cast<std::uint32_t>(length))};
  // The exponent lies in the first of four bytes, whatever the byte order.
  std::uint32_t nine = 0;
  *reinterpret_cast<std::uint8_t*>(&nine) = 9;
  const std::array<std::uint32_t, 3> tail{kResolutionHead, nine, kEndOfOptions};
  append_block(file, BlockType::Interface, head,
               {reinterpret_cast<const std::uint8_t*>(interface.name.data()), length}, tail);
}

void append_pcapng_packet(OutputFile& file, const packet::Frame& frame) {
  const auto time_ns = static_cast<std::uint64_t>(frame.time_ns);
  const std::array<std::uint32_t, 5> head{frame.interface, upper(time_ns), lower(time_ns),
                                          frame.captured_bytes, frame.frame_bytes};
  append_block(file, BlockType::Packet, head, {frame.data, frame.captured_bytes});
}

void append_pcapng_drops(OutputFile& file, const Drop& drop) {
  const auto time_ns = static_cast<std::uint64_t>(drop.time_ns);
  const auto by_interface = as_words(drop.by_interface);
  const auto by_kernel = as_words(drop.by_kernel);
  const std::array<std::uint32_t, 10> body{
      drop.interface,  upper(time_ns),  lower(time_ns),       kDroppedByInterfaceHead,
      by_interface[0], by_interface[1], kDroppedByKernelHead, by_kernel[0],
      by_kernel[1],    kEndOfOptions};
  append_block(file, BlockType::Statistics, body, {});
}

}  // namespace chokepoint::capture::source
