// Headers between IP's own and the protocol above.
//
//   0             1         2
//   | next header | length  | …      length in units of 8 beyond the first 8 bytes; AH: of 4 beyond
//   8
//
// Pure functions.
#pragma once

#include <cstdint>

#include "capture/packet/ip.h"
#include "capture/packet/walk.h"

namespace chokepoint::capture::packet {

// Steps over one; false where it is cut or reaches beyond the packet.
bool skip_authentication(Walk& walk, std::uint8_t& protocol);

// Steps over all there are, up to a fixed number; `protocol` ends as that of what follows. A later
// fragment has nothing behind its fragment header that could be read. `jumbo_bytes` is the length
// that a jumbo payload option gives.
bool skip_extensions(Walk& walk, std::uint8_t& protocol, Piece& piece, std::uint32_t& jumbo_bytes);

}  // namespace chokepoint::capture::packet
