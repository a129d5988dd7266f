// All that is known about this host: read once, judged by probe/host, kept by the run record. A
// value; reading takes well under a second and never blocks on a device. Sources that may hang (a
// name server, a driver) have kMaxFactTime in all and are then reported as unknown.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host/cpu.h"
#include "base/host/fact.h"
#include "base/host/gpu.h"
#include "base/host/kernel.h"
#include "base/host/libraries.h"
#include "base/host/memory.h"
#include "base/host/mounts.h"
#include "base/host/network.h"
#include "base/host/process.h"
#include "base/host/rdma.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// This host's own name and what it resolves to. Gloo binds the first of these addresses that is
// this host's, unless an interface is set (GLOO_SOCKET_IFNAME).

// Names to addresses, in the order in which getaddrinfo gives them, because that order decides what
// Gloo binds. The running host uses its resolver; a copy of another host's tree only its
// /etc/hosts.

class Resolver {
 public:
  virtual ~Resolver() = default;
  // NotFound where the name does not resolve, Timeout where no server answered.
  virtual Result<std::vector<net::Address>> resolve(const std::string& name) = 0;
};

// The system's where the root is live: blocks for as long as it does. Else the copy's /etc/hosts.
std::unique_ptr<Resolver> resolver_for(const sys::Root& root);

struct OwnName {
  std::optional<std::string> name;
  std::optional<std::vector<net::Address>> addresses;  // empty: the name leads nowhere
  std::optional<Error> error;                          // why the addresses are not known
};

OwnName read_own_name(const sys::Root& root, Resolver& resolver);
OwnName read_own_name(const sys::Root& root);  // with resolver_for(root)
// What is known where the resolver did not answer in time.
OwnName unanswered_own_name(const sys::Root& root);
void append_facts(const OwnName& own, Facts& facts);

inline constexpr std::chrono::milliseconds kMaxFactTime{1200};

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
  std::vector<Mount> mounts;
  std::vector<RdmaDevice> rdma;
  Gpus gpus;
  std::optional<bool> peer_memory;     // has_peer_memory
  std::optional<Libraries> libraries;  // of the running host, where they opened in time
};

Inventory read_inventory(const sys::Root& root);
Facts facts_of(const Inventory& inventory);

}  // namespace chokepoint::host
