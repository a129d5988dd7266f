// The TCP sockets of one network namespace: which of them are the job's, and looking at those. A
// socket goes through
//
//                ┌── held by a process of the job, or by a rule ──▶ Job ── vanished ──▶ Closed
//   Unknown ─────┤                                                   ▲        (its last word may
//                └── held by nobody of the job, twice ──▶ Other ─────┘         still come)
//                                                      the job has grown
//
// and is forgotten with its last word, the kernel's event that it was destroyed. The watcher's
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/socket/belonging.h"
#include "capture/socket/holders.h"
#include "capture/socket/journal.h"
#include "capture/socket/kernel.h"
#include "capture/socket/pace.h"

namespace chokepoint::capture::socket {

class NetworkWatch {
 public:
  // Of a host with more sockets the rest is not looked at.
  static constexpr std::size_t kMostSockets = 262'144;

  // `began_ns`: what connections of older processes came to before their first sight is not
  // counted.
  NetworkWatch(std::unique_ptr<Kernel> kernel, Journal journal, std::int64_t busy_interval_ns,
               std::int64_t began_ns)
      : kernel_(std::move(kernel)),
        journal_(journal),
        busy_interval_ns_(busy_interval_ns),
        began_ns_(began_ns) {}

  // Each does what its name says, and what follows from what it finds.
  Result<> take_destroyed(std::int64_t now_ns);
  Result<> dump(std::int64_t now_ns);
  Result<> look(std::int64_t now_ns, Budget& budget);
  Result<> look_at_all(std::int64_t now_ns);

  // Sockets came up that some process must hold.
  bool wants_holders() const { return wants_holders_; }
  // `has_grown`: there are processes that were not there before, or other ranks.
  void assign(const Holders& holders, bool has_grown, std::int64_t now_ns);

  std::optional<std::int64_t> next_look_ns() const { return queue_.next_ns(); }
  // When a connection came or went.
  std::int64_t changed_ns() const { return changed_ns_; }
  bool has_connections() const { return connections_ > 0; }
  bool is_full() const { return sockets_.size() >= kMostSockets; }

 private:
  enum class Whose : std::uint8_t { Unknown, Job, Other, Closed };

  struct Socket {
    packet::Ends ends = {};
    std::uint32_t inode = 0;
    Whose whose = Whose::Unknown;
    bool is_listener = false;
    bool wants_holder = false;
    std::uint8_t tries = 0;
    std::uint64_t dump = 0;                       // the last that listed it
    std::unique_ptr<Connection> connection = {};  // of the job's, and of unknown ones
  };
  using Sockets = std::unordered_map<std::uint64_t, Socket>;  // by cookie

  void list(const Reading& reading, std::int64_t now_ns);
  void want_holder(std::uint64_t cookie, Socket& socket);
  void list_connection(Socket& socket, const Reading& reading, std::int64_t now_ns);
  std::unique_ptr<Connection> connection_of(const Reading& reading, std::int64_t now_ns) const;
  void sweep(std::int64_t now_ns);
  bool is_over(std::uint64_t cookie, Socket& socket, std::int64_t now_ns);

  Result<> look_at(std::int64_t now_ns, Budget* budget);
  void look_again(Connection& connection, std::int64_t now_ns);

  bool settle(std::uint64_t cookie, const Holders& holders, std::int64_t now_ns);
  bool settle(std::uint64_t cookie, Socket& socket, const job::JobProcess* holder,
              std::int64_t now_ns);
  void own_again(std::uint64_t cookie, Socket& socket, const Holders& holders);
  void admit(std::uint64_t cookie, Socket& socket, std::optional<std::int64_t> process,
             bool is_older, std::int64_t now_ns);
  book::Owner owner_of(const Connection& connection, std::optional<std::int64_t> process);

  void take_last_word(const Reading& reading, std::int64_t now_ns);
  void close(Socket& socket, std::int64_t now_ns);
  void take_stranger(std::unique_ptr<Connection> connection, std::int64_t now_ns);
  bool judge_closed(Connection& connection, std::int64_t now_ns);

  void refresh_interfaces(std::int64_t now_ns);

  std::unique_ptr<Kernel> kernel_;
  Journal journal_;
  const std::int64_t busy_interval_ns_;
  const std::int64_t began_ns_;

  Sockets sockets_;
  std::size_t connections_ = 0;  // of the job
  std::uint64_t dumps_ = 0;
  std::int64_t changed_ns_ = 0;
  Queue queue_;
  Belonging belonging_;
  Interfaces interfaces_;
  std::int64_t interfaces_ns_ = 0;

  bool wants_holders_ = false;
  std::vector<std::uint64_t> unsettled_;                // want a holder
  std::deque<std::uint64_t> closed_;                    // without a last word, the oldest first
  std::vector<std::unique_ptr<Connection>> strangers_;  // closed, and not known whose

  std::vector<std::uint64_t> asked_;  // in one look; kept for their room
  std::vector<Name> names_;
};

}  // namespace chokepoint::capture::socket
