// A flow as the engine keeps it: its ends and its two halves. Half 0 is the direction from a to b;
// a opened the connection, or was seen sending first. tcp.h declares the rules that change it.
// Owned by the engine's pool, used by its thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>

#include "capture/flow/facts.h"
#include "capture/flow/loss.h"
#include "capture/flow/sent_log.h"
#include "capture/flow/series.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

// What identifies a flow: both ends, ordered so that both directions have the same key, and the
// protocol. The hash is keyed with a secret, so that a crafted capture cannot put all flows in one
// place. A value.
struct Key {
  packet::Address low{};
  packet::Address high{};
  std::uint32_t ports = 0;  // of low, then of high
  std::uint32_t tunnel = 0;
  std::uint8_t protocol = 0;

  // Word by word: a call of memcmp() costs more than the comparison.
  bool operator==(const Key& other) const {
    const std::uint64_t differences =
        (low.words[0] ^ other.low.words[0]) | (low.words[1] ^ other.low.words[1]) |
        (high.words[0] ^ other.high.words[0]) | (high.words[1] ^ other.high.words[1]) |
        (ports ^ other.ports) | (tunnel ^ other.tunnel) |
        static_cast<std::uint64_t>(protocol ^ other.protocol);
    return differences == 0;
  }
};

struct Directed {
  Key key{};
  bool from_low = true;
};

inline Directed key_of(const packet::Ends& ends) {
  const auto& source = ends.source.words;
  const auto& destination = ends.destination.words;
  const bool is_first_same = source[0] == destination[0];
  const bool is_same = is_first_same && source[1] == destination[1];
  const bool from_low = is_same         ? ends.source_port <= ends.destination_port
                        : is_first_same ? source[1] < destination[1]
                                        : source[0] < destination[0];
  Directed directed;
  directed.from_low = from_low;
  directed.key.low = from_low ? ends.source : ends.destination;
  directed.key.high = from_low ? ends.destination : ends.source;
  const std::uint32_t low_port = from_low ? ends.source_port : ends.destination_port;
  const std::uint32_t high_port = from_low ? ends.destination_port : ends.source_port;
  directed.key.ports = low_port << 16 | high_port;
  directed.key.tunnel = ends.tunnel;
  directed.key.protocol = ends.protocol;
  return directed;
}

// Folds the full product of two words: every bit of both moves every bit of the result.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_of(const Key& key, std::uint64_t secret) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  const std::uint64_t low = mix(key.low.words[0] ^ secret, key.low.words[1] ^ kOdd);
  const std::uint64_t high = mix(key.high.words[0] ^ kOdd, key.high.words[1] ^ secret);
  const std::uint64_t rest = std::uint64_t{key.ports} << 32 | (key.tunnel ^ key.protocol);
  return mix(low ^ rest ^ secret, high ^ (secret >> 32 | secret << 32));
}

// Longer silences of a sender whose acknowledgements are not seen count as idle.
inline constexpr std::int64_t kUnansweredIdleNs = 200'000'000;

// How long a direction had data outstanding, and what it waited for: the time between two packets
// counts for the state after the first. A clock that steps back adds nothing. Most packets leave
// the state as it is: then only the time is noted, and counted with the next change.
class alignas(packet::kCacheLine) Activity {
 public:
  struct State {
    bool is_busy = false;            // data is outstanding
    bool is_window_limited = false;  // and the peer's window has no room for another segment
    bool is_window_closed = false;   // the peer's window is 0
    bool is_unanswered = false;      // the peer's side is not seen: busy ends with the next silence

    bool operator==(const State& other) const {
      return std::bit_cast<std::uint32_t>(*this) == std::bit_cast<std::uint32_t>(other);
    }
  };

  // Returns true if a busy period begins.
  bool move(std::int64_t time_ns, State state) {
    if (state == state_ && is_begun_ && !state.is_unanswered) {
      last_ns_ = std::max(last_ns_, time_ns);
      return false;
    }
    return change(time_ns, state);
  }

  // With all time until the last packet counted: only then the durations are right.
  Activity counted() const {
    Activity all = *this;
    all.change(last_ns_, state_);
    return all;
  }

  std::int64_t busy_ns() const { return busy_ns_; }
  std::int64_t window_limited_ns() const { return window_limited_ns_; }
  std::int64_t closed_ns() const { return closed_ns_; }
  std::int64_t longest_idle_ns() const { return longest_idle_ns_; }

 private:
  bool change(std::int64_t time_ns, State state);

  State state_{};
  bool is_begun_ = false;
  bool was_ever_busy_ = false;
  std::int64_t last_ns_ = 0;     // of the packets so far
  std::int64_t counted_ns_ = 0;  // the time until then is counted
  std::int64_t busy_ns_ = 0;
  std::int64_t window_limited_ns_ = 0;
  std::int64_t closed_ns_ = 0;
  std::int64_t idle_ns_ = 0;
  std::int64_t longest_idle_ns_ = 0;
};

// The payload of one full segment of a direction: the NIC cuts super-frames into these. Known from
// the handshake if it was seen; else learned from the frames: a super-frame is mostly a whole
// number of full segments, and the end of a burst is often one full segment alone.
class SegmentSize {
 public:
  // Both ends agreed: the smaller MSS less the timestamp option.
  void agreed(std::uint32_t payload_bytes) {
    is_agreed_ = true;
    bytes_ = payload_bytes;
  }

  // A frame's payload. Only used without agreement, and if it is larger than those seen.
  void saw(std::uint32_t payload_bytes) {
    if (!is_agreed_ && payload_bytes > largest_common_) {
      learn(payload_bytes);
    }
  }

  // 0: not known, and no frame so far was larger than a segment may be.
  std::uint32_t bytes() const { return bytes_; }

 private:
  void learn(std::uint32_t payload_bytes);
  std::uint32_t learned() const;

  bool is_agreed_ = false;
  std::uint32_t bytes_ = 0;
  std::uint32_t largest_common_ = 0;  // of those that fit 1500 bytes
  std::uint32_t largest_jumbo_ = 0;   // of those that fit 9000 bytes
  std::int32_t votes_for_jumbo_ = 0;
  bool is_beyond_common_ = false;
  bool is_beyond_jumbo_ = false;
};

// From the SYN of this side.
struct Opening {
  bool is_seen = false;
  bool has_window_scale = false;
  bool allows_sack = false;
  std::uint8_t window_scale = 0;
  std::uint16_t mss = 0;
  bool has_timestamps = false;
  bool is_cut = false;     // the capture ends inside its options: what is not there may have been
  bool is_answer = false;  // it acknowledged the other side's SYN
};

// Whether it is known if it offered a window scale, and which.
inline bool is_known(const Opening& opening) {
  return opening.is_seen && (opening.has_window_scale || !opening.is_cut);
}

// One direction of a flow: what was counted, where its stream stands, and what the other side said
// about it. Details that only some flows need are made when they do.
//
// A capture of many flows waits for memory, so fields that are used together stand in one cache
// line: of a packet in order the first lines of `tally`, `stream`, `segment` and `activity`; of
// the half that it acknowledges `stream` alone, until the acknowledgement is a new one.
struct alignas(packet::kCacheLine) Half {
  Tally tally{};

  // ---- The stream this side sends
  alignas(packet::kCacheLine) bool is_begun = false;  // origin and next mean something
  bool is_answered = false;                           // the other side acknowledged something of it
  bool is_finished = false;                           // its FIN was seen
  bool has_sent = false;                              // data, SYN or FIN of it was seen
  std::uint32_t origin = 0;                           // sequence number of position 0
  Position next = 0;                                  // behind the highest byte sent
  Position acked = 0;                                 // the other side has everything below
  // Segments below give no round trip: it is not known which transmission was acknowledged.
  Position retransmitted_until = std::numeric_limits<Position>::min();
  std::int64_t peer_sent_ns = 0;  // when the other side last sent anything
  std::int64_t sent_ns = 0;       // when this side last sent data
  Position edge = 0;              // the other side's window ends here
  bool is_edge_known = false;
  bool is_peer_closed = false;  // the other side's window is 0
  bool is_full = false;         // this side has filled it
  // The window that this side advertises.
  bool is_closed = false;         // it is 0
  std::uint16_t last_window = 0;  // as in the last header
  // Its IP IDs show the order of sending if they rise: id_trust > 0.
  std::uint16_t last_ip_id = 0;

  // ---- Its segments
  SegmentSize segment{};
  std::int8_t id_trust = 0;
  bool is_in_timeout = false;
  bool is_in_recovery = false;  // by what the receiver reported
  bool used_sack = false;
  bool has_sent_probe = false;  // one byte against a closed window, not counted as sent
  // A round ends when what was sent at its beginning is acknowledged.
  Position round_mark = 0;
  std::uint64_t round_peak = 0;
  std::unique_ptr<SentLog> sent = nullptr;
  std::unique_ptr<Loss> loss = nullptr;

  // ---- What it waits for
  Activity activity{};

  // ---- What the other side said about it
  Position recovery_point = 0;       // what had been sent when a timeout or recovery began
  std::uint32_t duplicate_acks = 0;  // in a row, without progress
  std::uint32_t max_window = 0;      // of this side, the largest outside of a SYN
  Opening opening{};
  std::unique_ptr<Spread> rtt = nullptr;
  std::unique_ptr<Spread> timestamp_rtt = nullptr;
  std::unique_ptr<Spread> rounds = nullptr;
  std::unique_ptr<Echoes> echoes = nullptr;
  std::unique_ptr<Series> series = nullptr;
  Copies copies{};

  Position outstanding() const { return next - acked; }
  Position sacked_bytes() const { return loss ? loss->sacked.bytes() : 0; }
  std::uint64_t in_flight() const {
    const Position bytes = is_answered ? outstanding() - sacked_bytes() : 0;
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  }
};

struct Flow {
  // The pool's: when it was last moved to the newest, its neighbours in that order, and what
  // differs when the slot has another flow.
  std::int64_t tick = 0;
  std::uint32_t older = kNoSlot;
  std::uint32_t newer = kNoSlot;
  std::uint32_t generation = 0;

  std::uint32_t interface = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  packet::Kind kind = packet::Kind::Tcp;
  bool is_reset = false;
  bool is_low_a = false;  // a is the lower end of the key
  Key key{};
  packet::Ends ends{};  // source is a
  std::array<Half, 2> halves{};

  // Which half sent this packet.
  unsigned direction_of(bool from_low) const { return from_low == is_low_a ? 0 : 1; }
  bool is_closed() const { return is_reset || (halves[0].is_finished && halves[1].is_finished); }
  bool handshake_seen() const { return halves[0].opening.is_seen && halves[1].opening.is_seen; }
};

// What the rules need besides the flow: the budget for details, and whether to keep series.
struct Keeping {
  Budget& budget;
  bool series = true;
};

// Pure.
FlowFacts describe(const Flow& flow);

}  // namespace chokepoint::capture::flow
