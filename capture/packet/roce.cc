#include "capture/packet/roce.h"

#include <array>

#include "capture/packet/bytes.h"

namespace chokepoint::capture::packet {
namespace {

constexpr std::uint32_t kBase = 12;
constexpr std::uint32_t kCheck = 4;
constexpr std::uint8_t kCongestionNotification = 0x81;

enum Service : std::uint8_t {
  kReliableDatagram = 2,
  kDatagram = 3,
  kCongestion = 4,
  kExtendedReliable = 5,
};

// What follows the base transport header.
struct Extended {
  std::uint8_t bytes = 0;  // all of it
  bool has_reth = false;
  bool has_aeth = false;
  bool is_answer = false;
};

constexpr Extended kPlain{};
constexpr Extended kWord{.bytes = 4};  // immediate data, invalidated key
constexpr Extended kReth{.bytes = 16, .has_reth = true};
constexpr Extended kRethWord{.bytes = 20, .has_reth = true};
constexpr Extended kAeth{.bytes = 4, .has_aeth = true, .is_answer = true};
constexpr Extended kAtomic{.bytes = 28};

// By the lower five bits of the opcode.
constexpr std::array<Extended, 32> kExtended{
    kPlain,  kPlain,
    kPlain,  kWord,
    kPlain,  kWord,  // send first, middle, last, only
    kReth,   kPlain,
    kPlain,  kWord,
    kReth,   kRethWord,  // write
    kReth,               // read request
    kAeth,   Extended{.is_answer = true},
    kAeth,   kAeth,  // read response first, middle, last, only
    kAeth,   Extended{.bytes = 12, .has_aeth = true, .is_answer = true},  // acknowledgements
    kAtomic, kAtomic,  // compare and swap, fetch and add
    kPlain,  kWord,
    kWord};  // reserved; send last and only with invalidate

// Of what the service puts between the base header and the others.
std::uint32_t service_bytes(std::uint8_t service, bool is_answer) {
  constexpr std::uint32_t kRdeth = 4;
  constexpr std::uint32_t kDeth = 8;
  constexpr std::uint32_t kXrceth = 4;
  switch (service) {
    case kReliableDatagram:
      return is_answer ? kRdeth : kRdeth + kDeth;
    case kDatagram:
      return kDeth;
    case kExtendedReliable:
      return is_answer ? 0 : kXrceth;
    default:
      return 0;
  }
}

void take_base(const std::uint8_t* header, Roce& roce) {
  roce.opcode = header[0];
  roce.forward_congestion = (header[4] & 0x80) != 0;
  roce.backward_congestion = (header[4] & 0x40) != 0;
  roce.queue_pair = read24(header + 5);
  roce.wants_ack = (header[8] & 0x80) != 0;
  roce.sequence = read24(header + 9);
}

void take_extended(const Walk& walk, std::uint32_t skipped, const Extended& extended, Roce& roce) {
  const std::uint8_t* header = walk.here() + skipped;
  if (extended.has_reth && walk.has(skipped + 16)) {
    roce.has_reth = true;
    roce.dma_bytes = read32(header + 12);
  }
  if (extended.has_aeth && walk.has(skipped + 4)) {
    roce.has_aeth = true;
    roce.syndrome = header[0];
    roce.message = read24(header + 1);
  }
}

}  // namespace

bool read_roce(Walk& walk, Roce& roce) {
  if (!walk.has(kBase) || walk.rest() < kBase + kCheck || (walk.here()[1] & 15) != 0) {
    return false;
  }
  const std::uint8_t* header = walk.here();
  const std::uint8_t service = header[0] >> 5;
  if (service > kExtendedReliable ||
      (service == kCongestion && header[0] != kCongestionNotification)) {
    return false;
  }
  const bool is_notification = header[0] == kCongestionNotification;
  const Extended& extended = is_notification ? kPlain : kExtended[header[0] & 31];
  const std::uint32_t skipped = kBase + service_bytes(service, extended.is_answer);
  const std::uint32_t before = is_notification ? walk.rest() - kCheck : skipped + extended.bytes;
  const std::uint32_t pad = is_notification ? 0 : (header[1] >> 4) & 3U;
  if (before + pad + kCheck > walk.rest()) {
    return false;
  }
  take_base(header, roce);
  take_extended(walk, skipped, extended, roce);
  walk.end -= pad + kCheck;
  walk.captured = std::min(walk.captured, walk.end);
  walk.at += before;
  return true;
}

}  // namespace chokepoint::capture::packet
