// The path of a collective's data, by the TCP connections that a backend opened for it, and
// whether this host has a better path. Pure functions, but for live_host() and ConnectionsSince.
// Any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/host/network.h"
#include "base/net/address.h"
#include "probe/collective/communicator.h"

namespace chokepoint::probe::collective {

struct Connection {
  net::Endpoint local;
  net::Endpoint peer;

  bool operator==(const Connection&) const = default;
};

// The connections of this process that were made since this was constructed, from /proc/self/fd: a
// library does not report its own.
class ConnectionsSince {
 public:
  ConnectionsSince();

  std::vector<Connection> now() const;

 private:
  std::set<std::uint64_t> before_;  // sockets, by inode
};

struct HostNetwork {
  host::Network network = {};
  host::Addresses addresses = {};
};

HostNetwork live_host();

// The variable by which a user chooses the interface: "GLOO_SOCKET_IFNAME".
struct InterfaceHints {
  std::string variable = {};
  bool by_prefix = false;  // an exact name needs '=' in front
};

InterfaceHints gloo_hints();
InterfaceHints nccl_hints();

// Names the interface that most connections use, then all others. Empty without connections.
DataPath data_path_of_sockets(const std::vector<Connection>& connections, int ranks,
                              const HostNetwork& host, const InterfaceHints& hints);

// Empty: no interface has this address.
std::string interface_of(const net::Address& address, const host::Addresses& addresses);

// Which interface of this host is better than this one, and how to choose it; empty: none is.
std::string better_than(const std::string& interface, const HostNetwork& host,
                        const InterfaceHints& hints);

}  // namespace chokepoint::probe::collective
