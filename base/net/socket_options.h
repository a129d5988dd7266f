// What a data socket is asked to be before it connects or listens. What is not set stays as the
// kernel has it. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/net/address.h"
#include "base/sys/error.h"

namespace chokepoint::net {

struct SocketOptions {
  std::optional<Address> source = {};  // the local address; its port stays the kernel's choice
  std::string interface = {};          // SO_BINDTODEVICE
  std::string congestion = {};         // cubic, bbr; TCP only
  std::optional<int> mss = {};
  std::optional<int> buffer_bytes = {};  // both directions; switches the kernel's tuning off
  std::optional<std::uint64_t> pacing_bytes_per_s = {};
  std::optional<int> dscp = {};  // 0..63
  bool no_delay = false;         // TCP only
  bool reuse_address = false;    // several sockets on one port, each connected to its own peer
};

// The error names the option, the value and what this host would take.
Result<> apply(const SocketOptions& options, int fd, Family family);

// What the kernel uses for this connection: "cubic".
std::optional<std::string> congestion_of(int fd);
std::optional<int> mss_of(int fd);

}  // namespace chokepoint::net
