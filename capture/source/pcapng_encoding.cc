#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "capture/source/encoding.h"
#include "capture/source/pcapng_format.h"
#include "capture/source/pcapng_options.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kOverhead = 12;
constexpr std::uint32_t kEndOfOptions = 0;
constexpr std::uint32_t kUnknownLength = 0xffff'ffff;

// code │ length << 16, as they lie in memory on a machine of this byte order.
constexpr std::uint32_t option_head(std::uint32_t code, std::uint32_t length) {
  return std::endian::native == std::endian::little ? code | length << 16 : code << 16 | length;
}

constexpr std::uint32_t kResolutionHead = option_head(kResolutionOption, 1);
constexpr std::uint32_t kDroppedByInterfaceHead = option_head(kDroppedByInterfaceOption, 8);
constexpr std::uint32_t kDroppedByKernelHead = option_head(kDroppedByKernelOption, 8);

std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// A block with this head, then these bytes and what pads them, then this tail.
void append_block(OutputFile& file, BlockType type, std::span<const std::uint32_t> head,
                  std::span<const std::uint8_t> bytes, std::span<const std::uint32_t> tail = {}) {
  const std::size_t length =
      kOverhead + head.size_bytes() + padded(bytes.size()) + tail.size_bytes();
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

void append_pcapng_head(OutputFile& file) {
  const std::array<std::uint32_t, 4> head{kPcapngByteOrderMagic, option_head(1, 0), kUnknownLength,
                                          kUnknownLength};
  append_block(file, BlockType::Section, head, {});
}

void append_pcapng_interface(OutputFile& file, const Interface& interface) {
  const std::size_t length = std::min(interface.name.size(), kLongestInterfaceName);
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
