// pcapng, read and written: blocks, each in the byte order of its section, which begins with a
// block of its own.
//
//   block     type u32 │ length u32 │ body, padded to 4 bytes │ length u32
//   options   code u16 │ length u16 │ value, padded to 4 bytes; at the end of most bodies
//
//   0a0d0d0a  section        magic 1a2b3c4d u32 │ version u16 u16 │ length i64 │ options
//   00000001  interface      link type u16 │ 0 u16 │ snapshot u32 │ options (name, unit of time)
//   00000002  old packet     interface u16 │ drops u16 │ time u32 u32 │ captured u32 │ length u32 │
//   … 00000003  simple packet  length u32 │ bytes, of the first interface, without a time 00000005
//   statistics     interface u32 │ time u32 u32 │ options (drops) 00000006  packet interface u32 │
//   time u32 u32 │ captured u32 │ length u32 │ …
//
// Blocks of other types are skipped. A simple packet gets the time of the one before it. Used by
// the thread that reads or writes the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "capture/packet/frame.h"
#include "capture/source/format.h"
#include "capture/source/output_file.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

inline constexpr std::uint32_t kPcapngByteOrderMagic = 0x1a2b3c4d;
// Bounds the memory for a file of nothing but interfaces.
inline constexpr std::size_t kMaxInterfaces = 65536;

enum class BlockType : std::uint32_t {
  Section = 0x0a0d0d0a,  // the same in both byte orders
  Interface = 1,
  OldPacket = 2,
  SimplePacket = 3,
  Statistics = 5,
  Packet = 6,
};

// The unit of an interface's timestamps: a power of ten or two per second, and an offset. Numbers
// that no clock would write wrap or become 0; they never fail.
class TimeUnit {
 public:
  // As in the option if_tsresol: the upper bit selects two or ten, the others are the exponent.
  static TimeUnit of_resolution(std::uint8_t resolution);
  void set_offset(std::int64_t seconds) {
    offset_ns_ = static_cast<std::uint64_t>(seconds) * 1'000'000'000U;
  }

  std::int64_t ns(std::uint64_t ticks) const {
    const std::uint64_t since = factor_ > 0 ? ticks * factor_ : fraction(ticks);
    return static_cast<std::int64_t>(since + offset_ns_);
  }

 private:
  std::uint64_t fraction(std::uint64_t ticks) const;

  std::uint64_t factor_ = 1000;  // nanoseconds per tick; 0: not a whole number
  std::uint64_t divisor_ = 0;    // ticks per nanosecond; 0: not a power of ten
  unsigned shift_ = 0;           // ticks per second, as a power of two
  std::uint64_t offset_ns_ = 0;
};

// A reader, if `head` begins a pcapng file; else null.
std::unique_ptr<Format> pcapng_format(std::span<const std::uint8_t> head);

// Write in this machine's byte order. Errors stay in the file: see OutputFile::error().
void append_pcapng_head(OutputFile& file);
void append_pcapng_interface(OutputFile& file, const Interface& interface);
void append_pcapng_packet(OutputFile& file, const packet::Frame& frame);
// `drop` with counts since the file began.
void append_pcapng_drops(OutputFile& file, const Drop& drop);

}  // namespace chokepoint::capture::source
