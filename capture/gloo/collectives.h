// Messages of all Gloo connections of a node to collectives: which, with whom, when, how much, and
// when each side was ready.
//
//   connection to peer 1  ── messages ──┐
//   connection to peer 2  ── messages ──┼── group, kind, tag ──▶ one Collective, a share a
//   connection
//
// A group is a process group, which has one connection to each peer. PyTorch counts collectives in
// each group by itself, so the n-th connection to an address is taken for the n-th group's. A
// collective is over when nothing of it has come for a while: nothing on the wire says so. What
// comes later still opens it anew under the same number; nothing is lost by that.
//
// Each send() with its receive() is one of its own. Those of one tag on one connection are told
// apart by the way in which data goes, and by their order: as Gloo serves them, the n-th
// send-ready, receive-ready and buffer belong together.
//
// Memory is bounded: so many connections, so many collectives open at a time. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "capture/gloo/expected.h"
#include "capture/gloo/message.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::gloo {

// What passed each way on one connection for one collective. Times are 0 where nothing was seen.
struct Way {
  std::uint64_t messages = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t deduced_bytes = 0;  // of the payload: its headers were not captured
  std::uint64_t announced = 0;      // send-ready messages
  std::uint64_t credits = 0;        // receive-ready messages
  std::uint64_t buffers = 0;
  std::int64_t send_ready_ns = 0;     // the sender of this way came to it
  std::int64_t receive_ready_ns = 0;  // it was ready to receive the other way's data
  std::int64_t first_data_ns = 0;
  std::int64_t last_data_ns = 0;
  std::int64_t hidden_by_ns = 0;  // what came out of sight before its first message had, by then
};

// When the side that sends this way first showed that it had come to the collective.
inline std::int64_t ready_ns(const Way& way) {
  const bool is_one_missing = way.send_ready_ns == 0 || way.receive_ready_ns == 0;
  return is_one_missing ? std::max(way.send_ready_ns, way.receive_ready_ns)
                        : std::min(way.send_ready_ns, way.receive_ready_ns);
}

struct Share {
  std::uint32_t connection = 0;
  Way sent{};
  Way received{};
};

struct Collective {
  std::uint32_t group = 0;
  Kind kind = Kind::Unknown;
  std::uint32_t number = 0;
  bool is_send = false;  // PointToPoint: this node sends
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<Share> shares{};

  std::uint64_t sent_bytes() const;
  std::uint64_t received_bytes() const;
};

// Every announcement was followed by its buffer, as far as headers were captured.
bool is_settled(const Collective& collective);

struct CollectiveLimits {
  std::size_t connections = 4'096;
  std::size_t open = 512;
  std::size_t shares = 256;                     // of one collective
  std::int64_t quiet_ns = 1'000'000'000;        // settled, and nothing came for so long
  std::int64_t abandoned_ns = 120'000'000'000;  // unsettled: a rank may be very late
};

class Collectives {
 public:
  using See = std::function<void(const Collective& collective)>;

  // `see` is given each collective that is over.
  explicit Collectives(See see, const CollectiveLimits& limits = {});

  // `ends` as this node sends. Returns the connection's number; one that is unknown has no place.
  static constexpr std::uint32_t kNoConnection = 0xffffffff;
  std::uint32_t connect(const packet::Ends& ends);
  void disconnect(std::uint32_t connection);

  // Messages of one connection come in order of their ends.
  void take(std::uint32_t connection, bool is_sent, const Message& message);
  // Gives away what is over by now; `all`: everything.
  void settle(std::int64_t now_ns, bool all = false);

  std::size_t open() const { return open_.size(); }
  std::uint64_t evicted() const { return evicted_; }  // to make room, before they were over

 private:
  struct Stream {
    Expected expected{};
    Message latest{};               // whose header was read
    std::int64_t missed_by_ns = 0;  // of what was not read, the last byte
  };

  struct Connection {
    packet::Address peer{};
    std::uint32_t group = 0;
    bool is_used = false;
    std::array<Stream, 2> streams{};  // received, sent
  };

  void take_missed(std::uint32_t connection, bool is_sent, Message missed);
  void add(std::uint32_t connection, bool is_sent, const Message& message, bool is_deduced);
  std::uint32_t free_group(const packet::Address& peer) const;
  Collective& find(std::uint32_t group, const Message& message);
  Collective& find_transfer(std::uint32_t connection, bool is_sent, const Message& message);
  Collective& opened(std::uint32_t group, const Message& message);
  Share* share_of(Collective& collective, std::uint32_t connection) const;
  void close(std::size_t place);
  void make_room();

  See see_;
  CollectiveLimits limits_;
  std::vector<Connection> connections_;
  std::vector<Collective> open_;  // the newest last
  std::uint64_t evicted_ = 0;
};

}  // namespace chokepoint::capture::gloo
