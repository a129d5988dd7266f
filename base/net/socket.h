// Sockets as owned descriptors: listening, connecting with a deadline, and moving whole buffers.
// All are made close-on-exec and non-blocking; who needs a blocking one (a data stream on a thread
// of its own) says so with set_blocking. Functions without state; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::net {

// What a data socket is asked to be before it connects or listens. What is not set stays as the
// kernel has it. A value.

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

// A TCP listener. An IPv6 one takes IPv6 only, so that both families are asked for by name.
Result<sys::Descriptor> listen(const Endpoint& local, int backlog, const SocketOptions& options);

// Nothing where no connection waits.
Result<std::optional<sys::Descriptor>> accept(int listener);

Result<sys::Descriptor> connect(const Endpoint& peer, const SocketOptions& options,
                                const Deadline& deadline);
// The same without waiting: once the socket can be written to, pending_error() has the result.
Result<sys::Descriptor> start_connect(const Endpoint& peer, const SocketOptions& options);

// A UDP socket bound to `local` (port 0: any); `connect_udp` connects it to one peer.
Result<sys::Descriptor> bind_udp(const Endpoint& local, const SocketOptions& options);
Result<> connect_udp(int fd, const Endpoint& peer);

Result<> set_blocking(int fd, std::chrono::milliseconds send_timeout,
                      std::chrono::milliseconds receive_timeout);

Result<Endpoint> local_endpoint(int fd);
Result<Endpoint> peer_endpoint(int fd);
// The error that waits on the socket, cleared by asking; 0 where there is none.
int pending_error(int fd);

// All of it or an error: for messages, not for bulk data.
Result<> send_all(int fd, std::span<const std::byte> data, const Deadline& deadline,
                  std::string_view subject);
// At least one byte, at most what fits; 0 where the peer closed.
Result<std::size_t> receive_some(int fd, std::span<std::byte> into, const Deadline& deadline,
                                 std::string_view subject);
Result<> receive_all(int fd, std::span<std::byte> into, const Deadline& deadline,
                     std::string_view subject);

// Whether a TCP peer's host is still there. A host that vanishes sends nothing, and a connection to
// it that only listens would wait for ever. A function without state; any thread.

// The connection ends with a timeout once the peer's kernel has not answered for `silence`, whether
// data is on its way or not. Whole seconds, at least three.
Result<> end_on_silence(int fd, std::chrono::seconds silence);

}  // namespace chokepoint::net
