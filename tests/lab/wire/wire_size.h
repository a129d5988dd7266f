// How large a frame from a TAP device is on the wire. A super-frame, which the sender's kernel left
// to its "hardware" to segment, counts as the segments it stands for, each with its own headers.
// Pure.
#pragma once

#include <cstddef>
#include <span>

#include "tests/lab/wire/shaper.h"

namespace chokepoint::lab {

// `data` begins with the virtio header, as a TAP device with IFF_VNET_HDR hands it out.
WireSize wire_size(std::span<const std::byte> data);

}  // namespace chokepoint::lab
