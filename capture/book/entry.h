// One connection of the book: its row in the run record, and what each side has said of it. Neither
// side's findings take the place of the other's:
//
//   of the sockets   process, interface, local end
//   of the packets   handshake; the end, and whatever the sockets do not know
//   of both          the start: the earlier
//
// Guarded by the book's lock, but for flow() and is_job(), which any thread reads without.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/record/entities.h"
#include "capture/book/pair.h"

namespace chokepoint::capture::book {

// What the sockets know of a connection.
struct Owner {
  std::optional<std::int64_t> process = {};  // record::Process::id
  std::string interface = {};
  bool is_job = false;
};

class Entry {
 public:
  // `row` has the ends; whoever is first says which of them is a.
  Entry(const Pair& pair, const packet::Ends& ends, record::Flow row);

  // The row's id in the record; 0 where it found no room.
  std::int64_t flow() const { return flow_.load(std::memory_order_relaxed); }
  // True from when the sockets say so.
  bool is_job() const { return is_job_.load(std::memory_order_relaxed); }

 private:
  friend class FlowBook;

  // One side's hold on the entry. A connection's socket or slot is never another's: once it has
  // been there the place is spent.
  struct Place {
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
  Place& place_of_socket(bool turned) { return sockets_[turned ? 1 : 0]; }
  Place* place_of_socket(std::uint64_t key);
  bool is_held() const;
  bool has_sockets() const;
  // Unknown while somebody holds it.
  record::Figure left_ns() const;

  void learn_of_packets(record::Flow row);
  void learn_of_sockets(Place& place, const Owner& owner);
  // The packets' word counts while there is no socket; the row is then as they named its ends.
  record::Figure local_end() const;
  // Of the end a where both are known: a row has one process.
  record::Figure process() const;
  std::string interface() const;
  // What both sides know.
  record::Flow row() const;

  const Pair pair_;
  const packet::Address a_;
  const std::uint16_t a_port_;
  record::Flow written_;  // with what is written; the ends always
  std::atomic<std::int64_t> flow_ = 0;
  std::atomic<bool> is_job_ = false;

  Place packets_ = {};
  record::Flow by_packets_ = {};

  std::array<Place, 2> sockets_ = {};  // of the end a, of the end b
  record::Figure socket_start_ns_ = {};
  record::Figure socket_end_ns_ = {};
};

using EntryPointer = std::shared_ptr<Entry>;

}  // namespace chokepoint::capture::book
