// RoCEv2: InfiniBand's transport in UDP, to port 4791.
//
//   0        1              2       4              5             8            9     12
//   | opcode | SE M pad ver | P_Key | F B reserved | queue pair  | A reserved | PSN | extended
//   headers | message | pad | ICRC
//
// Extended headers follow from the opcode, whose upper three bits are the service: RETH (16 bytes)
// in write first and only and in read requests, AETH (4) in acknowledgements and in read responses
// first, last and only, immediate or invalidated key (4), atomics (28, their answer 8), DETH (8) in
// datagrams, XRCETH (4) in XRC requests. payload_bytes is the message alone: without BTH, extended
// headers, pad and ICRC; 0 in requests to read, atomics, acknowledgements and CNP. Pure functions.
#pragma once

#include "capture/packet/packet.h"
#include "capture/packet/walk.h"

namespace chokepoint::capture::packet {

inline constexpr std::uint16_t kRocePort = 4791;

// The walk stands at the payload of UDP, and is left around the message. False, nothing changed:
// this is something else on that port, or was cut inside the base transport header.
bool read_roce(Walk& walk, Roce& roce);

}  // namespace chokepoint::capture::packet
