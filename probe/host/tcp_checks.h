// TCP's settings, and whether its buffers let one flow fill the fastest link. A flow carries at
// most a window per round trip, and the window is only a part of the buffer:
//
//   receiving  Before Linux 6.6, buffer x (1 - 1/2^tcp_adv_win_scale), half of it by default. From
//              6.6 on the kernel measures the share for each connection; half is assumed here.
//   sending    Two thirds: a writer that found the buffer full is woken when a third is free.
//
// Pure.
#pragma once

#include <optional>
#include <string>

#include "base/host/kernel.h"
#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_tcp(const host::Sysctls& sysctls, const host::Links& links, Checks& checks);
// fastest_mbps: this host's fastest link; nullopt if it is not known.
void check_tcp_buffers(const host::Kernel& kernel, const host::Sysctls& sysctls,
                       std::optional<double> fastest_mbps, Checks& checks);
struct WindowRule {
  double share = 0.5;
  std::string text;  // "half of the buffer (tcp_adv_win_scale 1)"
};
WindowRule receive_rule(const host::Kernel& kernel, const host::Sysctls& sysctls);

}  // namespace chokepoint::probe
