// Which row of the run record a connection has, whichever sees it first: the packets or the
// kernel's list of sockets. Both write their samples under one id, and share what they find:
// whether the connection is the job's, and of which process.
//
//   packets ── seen_by_packets ──┐
//                                ├──▶ one Entry per connection, one Flow row
//   sockets ── seen_by_sockets ──┘
//
// A connection within this host has a socket at each end, but only one entry. A reused port is a
// new connection: a second sighting from the same side gets a new entry, except packets that
// continue without a handshake after their flow had been dropped while the socket stayed.
//
// Any thread; one lock per sighting or update, none per packet. Entries live as long as a caller
// holds them. The registry drops entries that both sides have left, but not at once: a short
// connection is often closed before the other side samples it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/record/entities.h"
#include "base/record/writer.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::socket {

// The key of a connection: both its ends, in a fixed order.
struct Pair {
  packet::Address low = {};
  packet::Address high = {};
  std::uint16_t low_port = 0;
  std::uint16_t high_port = 0;
  std::uint8_t protocol = 0;
  std::uint64_t network = 0;  // inode of the network namespace; 0: the program's own

  auto operator<=>(const Pair&) const = default;
};

Pair pair_of(const packet::Ends& ends, std::uint64_t network);

// What the sockets know of a connection.
struct Owner {
  std::optional<std::int64_t> process = {};  // record::Process::id
  std::string interface = {};
  bool is_job = false;
};

// One connection: its row in the run record, and what each side has found. The row takes
//
//   from the sockets   process, interface, local end, whether it is the job's
//   from the packets   handshake, content, end time, and what the sockets do not know
//   from both          the earlier start time
//
// Guarded by the registry's lock, except flow() and is_job(), which any thread reads without it.
class Entry : public std::enable_shared_from_this<Entry> {
 public:
  // `row` has the ends; the first sighting decides which of them is a.
  Entry(const Pair& pair, const packet::Ends& ends, record::Flow row);

  // The row's id in the record; 0 if the record had no room for it.
  std::int64_t flow() const { return flow_.load(std::memory_order_relaxed); }
  // True once a socket shows it.
  bool is_job() const { return is_job_.load(std::memory_order_relaxed); }

 private:
  friend class FlowRegistry;

  // One side's hold on the entry. A socket or slot belongs to one connection only: a hold is used
  // once.
  struct Hold {
    std::uint64_t key = 0;  // 0: not seen yet
    bool has_left = false;
    Owner owner = {};  // of a socket

    bool is_held() const { return key != 0 && !has_left; }
  };

  // Whether `ends` has the row's b for its source.
  bool is_turned(const packet::Ends& ends) const;
  // Whether a socket was seen at ends.source.
  bool is_local(const packet::Ends& ends) const {
    return sockets_[is_turned(ends) ? 1 : 0].key != 0;
  }
  Hold& hold_of_socket(bool turned) { return sockets_[turned ? 1 : 0]; }
  Hold* hold_of_socket(std::uint64_t key);
  bool is_held() const;
  bool has_sockets() const;
  // Unknown while a side holds it.
  record::Figure left_ns() const;

  void learn_of_packets(record::Flow row);
  void learn_of_sockets(Hold& hold, const Owner& owner);
  // As the packets show it while there is no socket; the row's ends are then theirs.
  record::Figure local_end() const;
  // That of end a if both are known: a row has one process.
  record::Figure process() const;
  std::string interface() const;
  // With what both sides know.
  record::Flow row() const;

  const Pair pair_;
  const packet::Address a_;
  const std::uint16_t a_port_;
  record::Flow written_;  // as last written; always with the ends
  std::atomic<std::int64_t> flow_ = 0;
  std::atomic<bool> is_job_ = false;

  Hold packets_ = {};
  record::Flow by_packets_ = {};

  std::array<Hold, 2> sockets_ = {};  // of the end a, of the end b
  record::Figure socket_start_ns_ = {};
  record::Figure socket_end_ns_ = {};
};

using EntryPointer = std::shared_ptr<Entry>;

struct Sighting {
  EntryPointer entry = {};
  bool is_turned = false;  // the caller's source is the row's b
};

// The job's end of a connection, on this host.
struct JobEnd {
  bool is_source = false;      // of the ends in the call
  std::string interface = {};  // the one with its address; empty: not known
};

class FlowRegistry {
 public:
  // With more connections at once, new ones get a row for each side.
  static constexpr std::size_t kMaxEntries = 65'536;
  // Entries that both sides have left.
  static constexpr std::size_t kMaxLeftEntries = 4'096;

  // The writer outlives the registry.
  explicit FlowRegistry(record::Writer& writer) : writer_(writer) {}

  // `row`: what the packets know; `key`: a number other than 0, unique among the packets'
  // connections.
  Sighting seen_by_packets(const packet::Ends& ends, std::uint64_t network, std::uint64_t key,
                           record::Flow row);
  // What the packets show later: the end time, a handshake. `row` has the ends in the order of the
  // sighting.
  void update_by_packets(Entry& entry, const record::Flow& row);
  void left_by_packets(const EntryPointer& entry);

  // `ends.source` is the local end; `key` is the socket's cookie, here and below.
  Sighting seen_by_sockets(const packet::Ends& ends, std::uint64_t network, std::uint64_t key,
                           const Owner& owner, std::int64_t start_ns);
  void own(Entry& entry, std::uint64_t key, const Owner& owner);
  void left_by_sockets(const EntryPointer& entry, std::uint64_t key, std::int64_t end_ns);

  // nullopt if the connection is not the job's, as far as is known now.
  std::optional<JobEnd> job_end(const packet::Ends& ends, std::uint64_t network) const;
  // Whose socket the flow's end a (0) or b (1) is; nullopt if none was seen.
  std::optional<std::int64_t> process_of(std::int64_t flow, std::int64_t end) const;
  // Changes whenever the result of job_end() may have changed; takes no lock.
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }

  // Number of entries, including those that may soon be dropped.
  std::size_t size() const;

 private:
  EntryPointer add(const Pair& pair, const packet::Ends& ends, record::Flow row);
  template <class Fits>
  EntryPointer find(const Pair& pair, const Fits& fits) const;
  void write(Entry& entry);
  void forget(const EntryPointer& entry);
  void erase(const EntryPointer& entry);
  void learn(Entry& entry, Entry::Hold& hold, const Owner& owner);

  record::Writer& writer_;
  mutable std::mutex mutex_;
  std::multimap<Pair, EntryPointer> entries_;
  std::map<std::int64_t, std::weak_ptr<Entry>> by_flow_;  // those that have a row
  std::deque<EntryPointer> left_;                         // the oldest first
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace chokepoint::capture::socket
