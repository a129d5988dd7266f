// What a packet says about the other side's stream: acknowledgement, SACK, DSACK, window, and the
// timestamp it returns.
//
//   half  ── data ──▶ tap ──▶ other side
//   half  ◀────────── tap ◀── acknowledgement: half.acked, half.edge, half.loss->sacked, half.rtt
//
// One thread.
#pragma once

#include "capture/flow/flow.h"

namespace chokepoint::capture::flow {

// `packet` came from `from` and acknowledges what `half` sent. It has the ACK flag. True where it
// changed what is outstanding, or the window.
bool take_answer(Half& half, Half& from, const packet::Packet& packet, const Keeping& keeping);

}  // namespace chokepoint::capture::flow
