// All that is known about this host: read once, judged by probe/host, kept by the run record.
// A value; reading takes well under a second and never blocks on a device. What may hang (a name
// server, a driver) is waited for kPatience in all and then told as not known.
#pragma once

#include <chrono>

#include "base/host/cpu.h"
#include "base/host/fact.h"
#include "base/host/gpu.h"
#include "base/host/kernel.h"
#include "base/host/libraries.h"
#include "base/host/memory.h"
#include "base/host/network.h"
#include "base/host/own_name.h"
#include "base/host/process.h"
#include "base/host/rdma.h"
#include "base/sys/root.h"

namespace chokepoint::host {

inline constexpr std::chrono::milliseconds kPatience{1200};

struct Inventory {
  Kernel kernel;
  Network network;
  Process process;
  Cpu cpu;
  Memory memory;
  Sysctls sysctls;
  Addresses addresses;
  OwnName own_name;
  Timekeeping time;
  std::vector<RdmaDevice> rdma;
  Gpus gpus;
  std::optional<bool> peer_memory;     // has_peer_memory
  std::optional<Libraries> libraries;  // of the running host, where they opened in time
};

Inventory read_inventory(const sys::Root& root);
Facts facts_of(const Inventory& inventory);

}  // namespace chokepoint::host
