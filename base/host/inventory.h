// All that is known about this host: read once, judged by probe/host, kept by the run record.
// A value; reading takes well under a second and never blocks on a device.
#pragma once

#include "base/host/fact.h"
#include "base/host/kernel.h"
#include "base/host/network.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct Inventory {
  Kernel kernel;
  Network network;
};

Inventory read_inventory(const sys::Root& root);
Facts facts_of(const Inventory& inventory);

}  // namespace chokepoint::host
