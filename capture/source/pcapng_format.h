// pcapng: blocks, each in the byte order of its section, which begins with a block of its own.
//
//   block        type u32 │ length u32 │ body, padded to 4 bytes │ length u32
//
//   0a0d0d0a  section        magic 1a2b3c4d u32 │ version u16 u16 │ length i64 │ options
//   00000001  interface      link type u16 │ 0 u16 │ snapshot u32 │ options (name, unit of time)
//   00000002  old packet     interface u16 │ drops u16 │ time u32 u32 │ captured u32 │ length u32 │
//   … 00000003  simple packet  length u32 │ bytes, of the first interface, without a time 00000005
//   statistics     interface u32 │ time u32 u32 │ options (drops) 00000006  packet interface u32 │
//   time u32 u32 │ captured u32 │ length u32 │ …
//
// Blocks of other types are passed over. A simple packet gets the time of the one before it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "capture/source/format.h"
#include "capture/source/pcapng_section.h"

namespace chokepoint::capture::source {

inline constexpr std::uint32_t kPcapngByteOrderMagic = 0x1a2b3c4d;

enum class BlockType : std::uint32_t {
  Section = 0x0a0d0d0a,  // the same in both byte orders
  Interface = 1,
  OldPacket = 2,
  SimplePacket = 3,
  Statistics = 5,
  Packet = 6,
};

class PcapngFormat final : public Format {
 public:
  // Null where `head` does not begin a pcapng.
  static std::unique_ptr<PcapngFormat> recognise(std::span<const std::uint8_t> head);

  Consumed take(std::span<const std::uint8_t> bytes, Batch& batch) override;

 private:
  using Body = std::span<const std::uint8_t>;

  template <ByteOrder Order>
  Consumed walk(std::span<const std::uint8_t> bytes, std::size_t at, Batch& batch);
  bool begin_section(const std::uint8_t* block);
  // These give what is wrong with the block; null: nothing.
  template <ByteOrder Order>
  const char* take_block(BlockType type, Body body, Batch& batch);
  template <ByteOrder Order>
  const char* take_packet(Body body, Batch& batch);
  template <ByteOrder Order>
  const char* take_old_packet(Body body, Batch& batch);
  template <ByteOrder Order>
  const char* take_simple_packet(Body body, Batch& batch);
  template <ByteOrder Order>
  const char* add(std::uint32_t interface, Body body, Batch& batch);

  PcapngSection section_;
  std::int64_t last_time_ns_ = 0;
};

}  // namespace chokepoint::capture::source
