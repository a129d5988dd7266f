// One rank's part in a group, whatever library moves the data: what a collective is measured
// through. A backend makes one of a Place and a Store, by which the ranks find each other.
//
//   open ─▶ prepare ─▶ write_input ─▶ run… ─▶ read_output
//              ▲                                  │
//              └──────────────────────────────────┘  the next size
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "probe/collective/operation.h"

namespace chokepoint::probe::collective {

// A rank among all. `host` is what tells ranks of one host from those of another.
struct Place {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  std::string host = {};
};

// What ranks tell each other before they are connected: keys that one writes and others wait for.
class Store {
 public:
  virtual ~Store() = default;

  virtual Result<> set(const std::string& key, const std::string& value) = 0;
  // Waits until somebody has set it; an error once a rank has failed or time is up.
  virtual Result<std::string> get(const std::string& key) = 0;
};

// How the data went. What a backend cannot tell is nothing.
struct Way {
  std::string library = {};    // "libgloo", "NCCL 2.28.9"
  std::string transport = {};  // "tcp", "socket", "ib", "p2p", "shm"
  std::string interface = {};  // or an RDMA device's name
  std::string family = {};     // "ipv4", "ipv6"
  std::string local_address = {};
  std::optional<int> channels = {};
  std::optional<int> sockets_per_peer = {};
  std::optional<double> link_mbps = {};
  // Why another way of this host is better, and how to take it; empty where none is.
  std::string better = {};
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  // Room for this operation, from then on that of the calls below.
  virtual Result<> prepare(const Operation& operation) = 0;
  // This rank's whole input: input_bytes() of the operation.
  virtual Result<> write_input(std::span<const std::byte> bytes) = 0;
  // One after the other without a pause. How long each took on this rank, in microseconds, until
  // its data were there. Works in place where the library can, so that what was read is the result
  // of one run only where `times` is 1.
  virtual Result<std::vector<double>> run(int times) = 0;
  virtual Result<> read_output(std::span<std::byte> bytes) const = 0;
  // Once something has run.
  virtual Way way() const = 0;
};

}  // namespace chokepoint::probe::collective
