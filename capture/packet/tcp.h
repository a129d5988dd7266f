// The TCP header and its options. Options that contradict themselves end the list, as they do for
// Linux; what came before them stands. Pure functions.
//
//   0            2                 4          8                12       13      14       16
//   | source port | destination port | sequence | acknowledgement | length | flags | window |
//   checksum …
#pragma once

#include "capture/packet/packet.h"
#include "capture/packet/walk.h"

namespace chokepoint::capture::packet {

// The walk is left at the payload. Malformed: cut before the ports or contradicting itself;
// OtherIp: cut between ports and window, so that nothing can be followed.
Kind read_tcp(Walk& walk, Packet& packet);

}  // namespace chokepoint::capture::packet
