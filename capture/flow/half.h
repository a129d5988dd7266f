// One direction of a flow: what was counted, where its stream stands, and what the other side said
// about it. The rules that move it are in data.h (its own packets) and answer.h (the other side's).
// Details that only some flows need are made when they do. Owned by its Flow. One thread.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "capture/flow/activity.h"
#include "capture/flow/copies.h"
#include "capture/flow/echoes.h"
#include "capture/flow/loss.h"
#include "capture/flow/segment_size.h"
#include "capture/flow/sent_log.h"
#include "capture/flow/series.h"
#include "capture/flow/spread.h"
#include "capture/flow/tally.h"

namespace chokepoint::capture::flow {

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

// Whether it offered a window scale, and which.
inline bool is_known(const Opening& opening) {
  return opening.is_seen && (opening.has_window_scale || !opening.is_cut);
}

struct Half {
  Tally tally{};

  // The stream this side sends.
  bool is_begun = false;     // origin and next mean something
  bool is_answered = false;  // the other side acknowledged something of it
  bool is_finished = false;  // its FIN was seen
  bool has_sent = false;     // data, SYN or FIN of it was seen
  std::uint32_t origin = 0;  // sequence number of position 0
  Position next = 0;         // behind the highest byte sent
  Position acked = 0;        // the other side has all below
  // Segments below give no round trip: it is not known which sending was answered.
  Position resent_until = std::numeric_limits<Position>::min();
  SegmentSize segment{};
  Opening opening{};

  // What the other side said about it.
  std::uint32_t duplicate_acks = 0;  // in a row, without progress
  std::int64_t heard_ns = 0;         // when the other side last sent anything
  std::int64_t sent_ns = 0;          // when this side last sent data
  bool is_in_timeout = false;
  bool is_in_recovery = false;  // by what the receiver reported
  Position recovery_point = 0;  // what had been sent when either began
  bool is_edge_known = false;
  Position edge = 0;            // the other side's window ends here
  bool is_peer_closed = false;  // its window is 0
  bool is_full = false;         // this side has filled the window

  // The window this side tells.
  std::uint16_t told_window = 0;  // as in the last header
  std::uint32_t max_told = 0;     // the largest outside of a SYN
  bool is_closed = false;         // it is 0
  bool used_sack = false;
  bool has_sent_probe = false;  // one byte against a closed window, not counted as sent

  // How its IP IDs run; they tell the order of sending where they rise.
  std::uint16_t last_ip_id = 0;
  std::int8_t id_trust = 0;

  // A round ends when what was sent at its beginning is acknowledged.
  Position round_mark = 0;
  std::uint64_t round_peak = 0;

  Activity activity{};
  Copies copies{};

  std::unique_ptr<SentLog> sent = nullptr;
  std::unique_ptr<Loss> loss = nullptr;
  std::unique_ptr<Spread> rtt = nullptr;
  std::unique_ptr<Spread> timestamp_rtt = nullptr;
  std::unique_ptr<Spread> rounds = nullptr;
  std::unique_ptr<Echoes> echoes = nullptr;
  std::unique_ptr<Series> series = nullptr;

  Position outstanding() const { return next - acked; }
  Position sacked_bytes() const { return loss ? loss->sacked.bytes() : 0; }
  std::uint64_t in_flight() const {
    const Position bytes = is_answered ? outstanding() - sacked_bytes() : 0;
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  }
};

}  // namespace chokepoint::capture::flow
