// Assigns the messages of all Gloo connections of a node to collectives: which, with whom, when,
// how much, and when each side was ready.
//
//   connection to peer 1  ── messages ──┐
//   connection to peer 2  ── messages ──┼── group, kind, tag ──▶ one Collective, a Share of it for
//   connection to peer 3  ── messages ──┘                        each connection
//
// A group is a process group, which has one connection to each peer. PyTorch counts collectives
// within each group, so the n-th connection to an address is assumed to be the n-th group's. The
// wire does not show the end of a collective: it is over when no message of it has come for a
// while, which is shorter where its group has begun another one since, and all pauses so far were
// short. A later message opens it again under the same number; nothing is lost by that.
//
// Each send() with its receive() is a transfer of its own. Transfers of one tag on one connection
// are distinguished by direction and order: Gloo serves them in order, so the n-th send-ready,
// receive-ready and buffer belong together.
//
// Memory is bounded by the numbers of connections and of open collectives. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "capture/gloo/message.h"
#include "capture/packet/packet.h"

namespace chokepoint::record {
enum class CollectiveKind : std::int64_t;
}

namespace chokepoint::capture::gloo {

// The buffers that one direction of a connection still has to carry, as the ready messages of both
// directions announce them. So it can deduce what a stretch contained whose headers were not
// captured:
//
//   this direction    send-ready(slot, length) ──┐
//   the other one     receive-ready(slot, length) ┴─▶ expected ── buffer read, or deduced ──▶ gone
//
// Gloo sends the buffers of a slot in the order of their announcements, and all buffers of a
// connection in the order in which both sides had become ready for them: so what both had announced
// before a buffer that comes has come before it. A buffer that comes although it was deduced before
// shows that another one had come then. Fixed memory; a value.
class ExpectedBuffers {
 public:
  // A ready message that concerns this direction.
  void announce(const Message& ready);
  // Calls `on_message(const Message&)` for each that must have come before it, unseen; its
  // last_byte_ns is 0 if it is not known when.
  template <class OnMessage>
  void arrived(const Message& buffer, OnMessage&& on_message);

  // Takes from `missed`, a message of unknown kind, the buffers that it must have contained. Those
  // announced only after it are left out: a stretch may be reported long after its end. Calls
  // `on_message(const Message&)` for each; the rest of `missed` is unexplained. Its bytes are taken
  // to have come evenly.
  template <class OnMessage>
  void explain(Message& missed, OnMessage&& on_message);

 private:
  static constexpr std::size_t kMaxBuffers = 64;
  static constexpr std::size_t kMaxDeduced = 16;

  struct Waiting {
    Message buffer{};               // first_byte_ns: when it was last announced
    std::int64_t announced_ns = 0;  // 0: not yet
    std::int64_t credited_ns = 0;

    bool is_sendable() const { return announced_ns != 0 && credited_ns != 0; }
  };

  void remove(std::size_t place);
  void forget_before(const Message& message);

  using Places = std::bitset<kMaxBuffers>;
  // Those that may have been in the stretch, and of them those that it must have contained: which
  // have, with ready messages between them, exactly its bytes; else the first that fit.
  Places possible_in(const Message& missed) const;
  Places contained_in(const Message& missed) const;

  std::optional<Message> take_deduced(const Message& slot);
  std::optional<Message> take_similar(const Message& deduced);

  std::array<Message, kMaxDeduced> deduced_{};  // the newest ones; kind Unknown: none
  std::size_t next_deduced_ = 0;
  std::array<Waiting, kMaxBuffers> waiting_{};
  std::size_t size_ = 0;
};

// What passed in one direction of one connection for one collective. Times are 0 if nothing was
// seen.
struct DirectionTraffic {
  std::uint64_t messages = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t deduced_bytes = 0;  // of the payload: its headers were not captured
  std::uint64_t announced = 0;      // send-ready messages
  std::uint64_t credits = 0;        // receive-ready messages
  std::uint64_t buffers = 0;
  std::int64_t send_ready_ns = 0;     // the sender of this direction reached the operation
  std::int64_t receive_ready_ns = 0;  // it was ready to receive the other direction's data
  std::int64_t first_data_ns = 0;
  std::int64_t last_data_ns = 0;
  std::int64_t hidden_by_ns = 0;  // end of the missed stretch before its first message
};

// When the side that sends in this direction first showed that its code had reached the collective.
inline std::int64_t ready_ns(const DirectionTraffic& traffic) {
  const bool is_one_missing = traffic.send_ready_ns == 0 || traffic.receive_ready_ns == 0;
  return is_one_missing ? std::max(traffic.send_ready_ns, traffic.receive_ready_ns)
                        : std::min(traffic.send_ready_ns, traffic.receive_ready_ns);
}

struct Share {
  std::uint32_t connection = 0;
  DirectionTraffic sent{};
  DirectionTraffic received{};
};

struct Collective {
  std::uint32_t group = 0;
  Kind kind = Kind::Unknown;
  std::uint32_t number = 0;
  bool is_send = false;  // PointToPoint: this node sends
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t reported_ns = 0;  // its end when it was last reported as waiting
  std::vector<Share> shares{};

  std::uint64_t sent_bytes() const;
  std::uint64_t received_bytes() const;
};

// Every announcement was followed by its buffer, as far as headers were captured.
bool is_settled(const Collective& collective);

// send() and receive() are the same message; `is_sent`: this node called send().
record::CollectiveKind kind_in_record(Kind kind, bool is_sent);

struct CollectiveLimits {
  std::size_t connections = 4'096;
  std::size_t open = 512;
  std::size_t shares = 256;                     // of one collective
  std::int64_t quiet_ns = 1'000'000'000;        // settled, and nothing came for so long
  std::int64_t min_quiet_ns = 100'000'000;      // the same, where the group has gone on
  std::int64_t waiting_ns = 2'000'000'000;      // unsettled: some rank is waited for
  std::int64_t abandoned_ns = 120'000'000'000;  // unsettled: a rank may be very late
};

class Collectives {
 public:
  using OnCollective = std::function<void(const Collective& collective)>;

  // Calls `on_collective` for each collective that is over.
  explicit Collectives(OnCollective on_collective, const CollectiveLimits& limits = {});

  // `ends` as this node sends. Returns the connection's number; kNoConnection: there is no place.
  static constexpr std::uint32_t kNoConnection = 0xffffffff;
  std::uint32_t connect(const packet::Ends& ends);
  // Its messages are not joined with those of other connections.
  std::uint32_t connect_alone(const packet::Ends& ends);
  void disconnect(std::uint32_t connection);

  // Messages of one connection come in order of their ends.
  void take(std::uint32_t connection, bool is_sent, const Message& message);
  // Reports what is over by now; `all`: everything.
  void settle(std::int64_t now_ns, bool all = false);
  // Calls `on_collective` for each that is not settled and of which nothing came for a while: it
  // waits for a rank. Once, and again after each later message. It stays open.
  void report_waiting(std::int64_t now_ns, const OnCollective& on_collective);

  std::size_t open() const { return open_.size(); }
  std::uint64_t evicted() const { return evicted_; }  // to make room, before they were over

 private:
  struct Stream {
    ExpectedBuffers expected{};
    Message latest{};               // the last one whose header was read
    std::int64_t missed_by_ns = 0;  // when the last byte of the missed stretch passed
  };

  struct Connection {
    packet::Address peer{};
    std::uint32_t group = 0;
    bool is_used = false;
    std::array<Stream, 2> streams{};  // received, sent
  };

  std::uint32_t add_connection(const packet::Address& peer);
  void take_missed(std::uint32_t connection, bool is_sent, Message missed);
  void add(std::uint32_t connection, bool is_sent, const Message& message, bool is_deduced);
  std::uint32_t free_group(const packet::Address& peer) const;
  Collective& find(std::uint32_t group, const Message& message);
  Collective& find_transfer(std::uint32_t connection, bool is_sent, const Message& message);
  Collective& opened(std::uint32_t group, const Message& message);
  Share* share_of(Collective& collective, std::uint32_t connection) const;
  void note_pause(const Collective& collective, const Message& message);
  // How many its group has begun since the last message of this one.
  std::ptrdiff_t begun_since(const Collective& collective) const;
  std::int64_t quiet_before_end_ns(const Collective& collective) const;
  void close(std::size_t place);
  void make_room();

  OnCollective on_collective_;
  CollectiveLimits limits_;
  std::vector<Connection> connections_;
  std::vector<Collective> open_;       // the newest last
  std::int64_t longest_pause_ns_ = 0;  // of a settled one of which more came
  std::uint64_t evicted_ = 0;
};

}  // namespace chokepoint::capture::gloo
