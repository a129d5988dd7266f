// Do TCP's buffers let one flow fill this host's fastest link, near and far? A flow carries at most
// a window each round trip, and the window is only a part of the buffer:
//
//   receiving  Before Linux 6.6, buffer x (1 - 1/2^tcp_adv_win_scale), half of it by default. From
//              6.6 on the kernel measures the share for each connection; half is taken here.
//   sending    Two thirds: a writer that found the buffer full is woken when a third is free.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/host/kernel.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

struct WindowRule {
  double share = 0.5;
  std::string text;  // "half of the buffer (tcp_adv_win_scale 1)"
};

WindowRule receive_rule(const host::Kernel& kernel, const host::Sysctls& sysctls);

// The fastest that one flow with this window can be.
double flow_mbps(double window_bytes, double rtt_ms);

// fastest_mbps: this host's fastest link; nothing where that is not known.
void check_tcp_buffers(const host::Kernel& kernel, const host::Sysctls& sysctls,
                       std::optional<double> fastest_mbps, Checks& checks);

}  // namespace chokepoint::probe
