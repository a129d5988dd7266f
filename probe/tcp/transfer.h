// The two loops that move the data, on a blocking socket with a time-out by which they see that
// they shall stop. Each runs on its stream's thread.
#pragma once

#include <atomic>

#include "probe/tcp/stream.h"

namespace chokepoint::probe::tcp {

void send_data(int fd, const StreamPlan& plan, const Payload& payload, StreamCounters& counters,
               const std::atomic<bool>& stopping);

// With zero_copy what arrives is counted and dropped inside the kernel.
void receive_data(int fd, const StreamPlan& plan, StreamCounters& counters);

}  // namespace chokepoint::probe::tcp
