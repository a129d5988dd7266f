// What a UDP probe asks of its socket beyond being open: room, batches cut and merged by the
// kernel, arrival times and drops. What is not granted is told, never assumed. Functions on a
// descriptor that stays the caller's; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/sys/error.h"

namespace chokepoint::probe::udp {

// Both ways, beyond the host's limit where this process may; what the kernel then says it has.
std::int64_t ask_for_room(int fd, int bytes);

// Arrival times, counts of drops, and super-frames where the kernel can.
Result<> prepare_receiving(int fd);

// Errors of the own interface's queue shall reach the sender instead of counting as sent.
Result<> prepare_sending(int fd);

// Each message is cut into datagrams of this size; 0: no longer. False where the kernel cannot.
bool cut_into(int fd, std::size_t bytes);

// Packets or super-frames that found no room in the socket's queue since it was opened.
std::optional<std::uint32_t> queue_drops(int fd);

// What a datagram may carry to the connected peer without being fragmented.
std::optional<std::size_t> largest_payload(int fd);

}  // namespace chokepoint::probe::udp
