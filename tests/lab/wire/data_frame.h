// Whether a frame carries somebody's data: a TCP segment or a UDP datagram with a payload, over
// IPv4 or IPv6, on plain Ethernet. Bare acknowledgements, handshakes and questions for addresses do
// not. Pure.
#pragma once

#include <cstddef>
#include <span>

namespace chokepoint::lab {

// `data` begins with the virtio header, as a TAP device with IFF_VNET_HDR hands it out.
bool carries_data(std::span<const std::byte> data);

}  // namespace chokepoint::lab
