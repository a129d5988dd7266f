// The list between TCP's fixed header and its payload: kind, length, value, each; NOP and the end
// of the list are kinds alone. Pure functions.
#pragma once

#include <cstdint>

#include "capture/packet/packet.h"

namespace chokepoint::capture::packet {

// Reads [begin, end); each option that is there whole is taken, once or many times over.
void read_tcp_options(const std::uint8_t* begin, const std::uint8_t* end, Tcp& tcp);

}  // namespace chokepoint::capture::packet
