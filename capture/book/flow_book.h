// Which row of the run record a connection has, whoever sees it first: the packets or the kernel's
// list of sockets. Both then write their samples under one id, and know of each other's findings:
// whether the connection is the job's, and by which process.
//
//   packets ── seen_by_packets ──┐
//                                ├──▶ one Entry a connection, one Flow row
//   sockets ── seen_by_sockets ──┘
//
// A connection within this host has a socket at each end, and still one entry. A port that is used
// again is a new connection: a second sighting from the same side gets a new entry, but for packets
// that go on, without a handshake, where they had been lost sight of while the socket stayed.
//
// Any thread; a lock a connection, none a packet. Entries live as long as somebody holds them. The
// book forgets those that everybody has left, but not at once: a connection that lasted for moments
// is often closed before the other side looks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/record/writer.h"
#include "capture/book/entry.h"
#include "capture/book/pair.h"

namespace chokepoint::capture::book {

struct Sighting {
  EntryPointer entry = {};
  bool is_turned = false;  // the caller's source is the row's b
};

// The job's end of a connection that is here.
struct JobEnd {
  bool is_source = false;      // of the ends that were asked for
  std::string interface = {};  // that has its address; empty: not known
};

class FlowBook {
 public:
  // Beyond so many connections at once new ones have a row for each side.
  static constexpr std::size_t kMostEntries = 65'536;
  // Of those that everybody has left.
  static constexpr std::size_t kMostLeft = 4'096;

  // The writer outlives the book.
  explicit FlowBook(record::Writer& writer) : writer_(writer) {}

  // `row` as far as the packets know it; `key` is any number but 0 that only this connection has
  // among the packets' connections (slot and generation).
  Sighting seen_by_packets(const packet::Ends& ends, std::uint64_t network, std::uint64_t key,
                           record::Flow row);
  // What the packets learn later: the end, whether there was a handshake. `row` has the ends as at
  // the sighting.
  void update_by_packets(Entry& entry, const record::Flow& row);
  void left_by_packets(const EntryPointer& entry);

  // `ends.source` is the local end; `key` is the socket's cookie, here and below.
  Sighting seen_by_sockets(const packet::Ends& ends, std::uint64_t network, std::uint64_t key,
                           const Owner& owner, std::int64_t start_ns);
  void own(Entry& entry, std::uint64_t key, const Owner& owner);
  void left_by_sockets(const EntryPointer& entry, std::uint64_t key, std::int64_t end_ns);

  // Nothing where a connection is not the job's, as far as is known by now.
  std::optional<JobEnd> job_end(const packet::Ends& ends, std::uint64_t network) const;
  // Another one whenever job_end() may have another answer; costs no lock.
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }

  // Entries in it, those that may soon be forgotten included.
  std::size_t size() const;

 private:
  EntryPointer add(const Pair& pair, const packet::Ends& ends, record::Flow row);
  template <class Fits>
  EntryPointer find(const Pair& pair, const Fits& fits) const;
  void write(Entry& entry);
  void forget(const EntryPointer& entry);
  void erase(const EntryPointer& entry);
  void learn(Entry& entry, Entry::Place& place, const Owner& owner);

  record::Writer& writer_;
  mutable std::mutex mutex_;
  std::multimap<Pair, EntryPointer> entries_;
  std::deque<EntryPointer> left_;  // the oldest first
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace chokepoint::capture::book
