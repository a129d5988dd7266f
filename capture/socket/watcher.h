// The kernel's view of the job's connections: which there are, whose, over which interface, and
// samples of tcp_info: every 20 ms while a connection is busy, rarely while it is idle.
//
//   dump (all of a network namespace, now and then) ──▶ which sockets exist, whose; idle samples
//   single requests in one datagram (each tick)     ──▶ samples of busy connections
//   destroy events (where they may be received)     ──▶ the last state of closed connections
//
// One thread calls tick(), at the times that it returns; figures() any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/job/process.h"
#include "capture/socket/flow_registry.h"

namespace chokepoint::capture::socket {

struct Options {
  std::int64_t busy_interval_ns = 20'000'000;
  std::int64_t idle_interval_ns = 1'000'000'000;
  std::int64_t most_samples_per_s = 2'000;  // of all sockets together; beyond it each waits longer
};

// Where senders' time went in the last second, by the kernel's stopwatch (tcp_info): shares of the
// time in which there was something to send, over all the job's connections. All 0 if none was
// busy.
struct Shares {
  double busy = 0;  // of the time that passed, of the busiest connection
  double receive_window = 0;
  double send_buffer = 0;
  double network = 0;
};

// The remote end of a job's connection, and the interface that leads there.
struct Peer {
  packet::Address address = {};
  bool is_ipv6 = false;
  std::string interface = {};
  std::uint64_t network = 0;
  pid_t pid = 0;  // of a process in that network, where it is not the program's own

  auto operator<=>(const Peer&) const = default;
};

// A connection on which something is under way, and nothing of it was acknowledged for a while
// though it was sent again.
struct Silent {
  packet::Address peer = {};
  bool is_ipv6 = false;
  std::int64_t flow = 0;  // its row; 0: none
  std::int64_t since_ns = 0;
  std::int64_t unacked_packets = 0;
  std::int64_t resent_packets = 0;  // since then
};

// Sums since the start, and the state now.
struct Figures {
  std::size_t connections = 0;  // of the job, now
  std::uint64_t connections_ever = 0;
  std::uint64_t sent_bytes = 0;  // payload, retransmissions included; of all connections ever
  std::uint64_t received_bytes = 0;
  std::uint64_t retransmitted_bytes = 0;
  std::uint64_t retransmitted_segments = 0;
  std::uint64_t sent_segments = 0;
  Shares shares = {};
  std::vector<Peer> peers = {};  // sorted, each once; loopback included
  std::vector<Silent> silent = {};
  std::vector<std::string> remarks = {};  // what could not be seen, and why
};

class Watcher {
 public:
  // Works as far as the kernel and the privileges allow; what is lacking stands in
  // Figures::remarks. An Error only if nothing at all can be watched. Writer and registry outlive
  // it.
  static Result<std::unique_ptr<Watcher>> make(const Options& options, sys::Root root,
                                               const sys::Clock& clock, record::Writer& writer,
                                               FlowRegistry& registry);
  virtual ~Watcher() = default;

  // Does what is due. Returns when to call it again, in monotonic ns.
  virtual std::int64_t tick(const job::JobProcesses& processes) = 0;
  // Takes the last state of all; the last call.
  virtual void finish(const job::JobProcesses& processes) = 0;
  virtual Figures figures() const = 0;
};

}  // namespace chokepoint::capture::socket
