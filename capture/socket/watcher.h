// The kernel's view of the job's connections: which there are, whose, over which interface, and
// tcp_info again and again: 20 ms apart while one is busy, seldom while it is idle.
//
//   dump (all of a network namespace, now and then) ──▶ who is there, whose; idle ones' samples
//   single requests in one datagram (each tick)     ──▶ the busy ones' samples
//   destroy events (where we may listen)            ──▶ the last state of what closed meanwhile
//
// One thread calls tick(), when it said it would like to be called; figures() any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/book/flow_book.h"
#include "capture/job/process.h"

namespace chokepoint::capture::socket {

struct Options {
  std::int64_t busy_interval_ns = 20'000'000;
  std::int64_t idle_interval_ns = 1'000'000'000;
  std::int64_t most_samples_per_s = 2'000;  // of all sockets; more are taken more seldom
};

// Where senders' time went since the figures before, by the kernel's stopwatch: shares of the time
// in which there was something to send, of all the job's connections. Nothing where none was busy.
struct Shares {
  double busy = 0;  // of the time that passed, of the busiest connection
  double receive_window = 0;
  double send_buffer = 0;
  double network = 0;
};

// The end of a job's connection that is elsewhere, and the interface that leads there.
struct Peer {
  packet::Address address = {};
  bool is_ipv6 = false;
  std::string interface = {};
  std::uint64_t network = 0;
  pid_t pid = 0;  // of a process in that network, where it is not the program's own

  auto operator<=>(const Peer&) const = default;
};

// Sums since the start, and what is so now. A value.
struct Figures {
  std::size_t connections = 0;  // of the job, now
  std::uint64_t connections_ever = 0;
  std::uint64_t sent_bytes = 0;  // payload, retransmissions included; of all connections ever
  std::uint64_t received_bytes = 0;
  std::uint64_t retransmitted_bytes = 0;
  std::uint64_t retransmitted_segments = 0;
  std::uint64_t sent_segments = 0;
  Shares shares = {};
  std::vector<Peer> peers = {};           // sorted, each once; loopback included
  std::vector<std::string> remarks = {};  // what could not be seen, and why
};

class Watcher {
 public:
  // Works with what this kernel and these rights allow, and says in Figures::remarks what is
  // lacking; an error only where nothing at all can be had. Writer and book outlive it.
  static Result<std::unique_ptr<Watcher>> make(const Options& options, sys::Root root,
                                               const sys::Clock& clock, record::Writer& writer,
                                               book::FlowBook& book);
  virtual ~Watcher() = default;

  // Does what is due. When it wants to be called again, in monotonic ns.
  virtual std::int64_t tick(const job::JobProcesses& processes) = 0;
  // The last state of all; nothing after it.
  virtual void finish(const job::JobProcesses& processes) = 0;
  virtual Figures figures() const = 0;
};

}  // namespace chokepoint::capture::socket
