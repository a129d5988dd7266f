// What this host is made of, as far as a preflight holds measurements against it. Reads below the
// given root, and asks the running kernel where that is live.
#pragma once

#include "base/host/network.h"
#include "base/sys/clock.h"
#include "base/sys/root.h"
#include "preflight/result/host_facts.h"

namespace chokepoint::preflight {

HostFacts read_facts(const sys::Root& root);
// With interfaces that were read before.
HostFacts facts_of(const sys::Root& root, const host::Network& network);

// What the time of day is ahead of the monotonic clock.
double wall_less_monotonic_ms(const sys::Clock& clock);

// Of the hardware; nothing where a driver makes a speed up, as virtio's and veth's do.
std::optional<double> real_speed_mbps(const host::Network& network, const host::Nic& nic);

}  // namespace chokepoint::preflight
