// A QUIC connection that carries a test's streams, and its related parts: the interface that this
// project needs from a QUIC library. libchokepoint-quic.so implements them by ngtcp2 (module/),
// and is opened when the first of them is made (library.cc): the program itself starts without
// both libraries. Nothing here reads or writes a socket: packets and the time are parameters and
// results. One thread. A connection borrows the identity that it was made with.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "probe/quic/parameters.h"

namespace chokepoint::probe::quic {

// An error with the next step where the module is missing or cannot be opened.
Result<> can_quic();
std::string library_version();  // "ngtcp2 0.12.1"; empty without one

using Packet = std::span<const std::byte>;
using Fingerprint = std::array<std::uint8_t, 32>;  // SHA-256 of a certificate

// The largest UDP payload that is ever written: what path MTU discovery may find.
inline constexpr std::size_t kMaxPayload = 1452;

// A key and a certificate made on the spot, and what resumption needs of a server.
class Identity {
 public:
  static Result<std::unique_ptr<Identity>> make();
  virtual ~Identity() = default;
  virtual const Fingerprint& fingerprint() const = 0;
};

// Which server a client takes.
struct Expected {
  std::optional<Fingerprint> certificate = {};  // nullopt: any
  std::string name = {};                        // that it is asked for (SNI); empty: none
};

// What a client keeps of a connection, so that its next one can send data in the first flight.
struct Ticket {
  std::string session = {};
  std::string transport = {};
};

// As the kernel and the library take them: the module has no code of this program's.
struct SocketAddress {
  sockaddr_storage bytes = {};
  socklen_t length = 0;
};

struct Ends {
  SocketAddress local;
  SocketAddress peer;
  std::string peer_text;  // 10.0.0.2:5210
};

enum class Protocol {
  // Unidirectional streams each way, and a bidirectional one for the request that shows 0-RTT.
  Chokepoint,
  // draft-banks-quic-performance: bidirectional streams of the client, each of which begins with
  // the
  // number of bytes that it wants back.
  Perf,
};

struct Tuning {
  documents::QuicCongestion congestion = documents::QuicCongestion::Cubic;
  std::uint64_t window_bytes = 0;
  int streams = 0;  // that the peer may open
  Protocol protocol = Protocol::Chokepoint;
};

// Why write() had nothing to write.
enum class Wait {
  Idle,         // there is nothing to send
  Asked,        // the pace that was asked for
  FlowControl,  // the peer grants no more
  Congestion,   // the congestion window is full
  Pacing,       // of the congestion control
};

struct Written {
  std::size_t bytes = 0;  // 0: nothing, see `wait`
  unsigned ecn = 0;       // for the IP header
  Wait wait = Wait::Idle;
};

struct Statistics {
  std::int64_t smoothed_rtt_ns = 0;
  std::int64_t min_rtt_ns = 0;  // 0: not measured
  std::uint64_t cwnd_bytes = 0;
  std::uint64_t packet_bytes = 0;  // UDP payload that path MTU discovery has reached
};

// Stream data, each byte once; requests not counted.
struct StreamCounts {
  std::uint64_t sent_bytes = 0;
  std::uint64_t acknowledged_bytes = 0;
  std::uint64_t received_bytes = 0;
  // Packets with stream data that the library declared lost, and whose data was sent again.
  std::uint64_t lost_packets = 0;
  int sent_whole = 0;      // streams of this end, up to their end and acknowledged
  int received_whole = 0;  // streams of the peer, up to their end
};

// How a packet opens a connection of a server that had the client come twice (RFC 9000, 8.1.2).
struct Opening {
  std::string first_id = {};  // that the client made up for the server at first
  std::string retry_id = {};  // that the server gave it then
};

class Connection {
 public:
  virtual ~Connection() = default;

  // A server's connection for the packet that opens it, which read() is given next.
  static Result<std::unique_ptr<Connection>> accept(const Identity& identity, const Ends& ends,
                                                    const Tuning& tuning, Packet first,
                                                    const Opening* retried, std::int64_t now_ns);
  // With a ticket the request that every client makes goes into the first flight.
  static Result<std::unique_ptr<Connection>> connect(const Expected& server, const Ends& ends,
                                                     const Tuning& tuning, const Ticket* ticket,
                                                     std::int64_t now_ns);
  // Whether it could open another connection than this one.
  virtual bool is_for_another(Packet packet) const = 0;

  virtual Result<> read(Packet packet, unsigned ecn, std::int64_t now_ns) = 0;
  virtual Result<Written> write(std::span<std::byte> into, std::int64_t now_ns) = 0;
  // What was written has left: the pacing's clock.
  virtual void sent(std::int64_t now_ns) = 0;
  // Most bytes that should leave at once.
  virtual std::size_t burst_bytes() const = 0;
  // When expire() shall be called, unless something comes first.
  virtual std::int64_t expiry_ns() const = 0;
  virtual Result<> expire(std::int64_t now_ns) = 0;
  // The packet that ends the connection at the peer; 0 where none can be written.
  virtual std::size_t close(std::span<std::byte> into, std::int64_t now_ns) = 0;

  virtual bool is_closed() const = 0;            // by the peer
  virtual std::string close_reason() const = 0;  // that the peer gave; may be empty
  virtual bool is_ready() const = 0;             // the handshake is complete
  virtual bool is_answered() const = 0;          // the client's request was answered
  virtual bool has_used_early_data() const = 0;
  virtual std::optional<Ticket> ticket() const = 0;

  // Opens this end's streams; each sends until finish().
  virtual Result<> open_streams(int count) = 0;
  // Of Protocol::Perf: streams on which the server sends until the connection ends.
  virtual Result<> request_streams(int count) = 0;
  virtual void finish() = 0;
  // No more than this many bytes in total; unlimited until it is called.
  virtual void allow(std::uint64_t bytes) = 0;

  virtual std::uint64_t received_bytes() const = 0;
  virtual std::uint64_t acknowledged_bytes() const = 0;
  // Looks at every stream.
  virtual const StreamCounts& counts() const = 0;
  virtual std::span<const std::uint64_t> received_by_stream() const = 0;
  virtual std::span<const std::uint64_t> acknowledged_by_stream() const = 0;
  virtual Statistics statistics() const = 0;
};

// What comes to a server's port from clients without a connection yet: none is opened before a
// client has shown that it receives what is sent to its address, and nothing is kept of it until
// then. What is answered is smaller than what came.
class Gate {
 public:
  static Result<std::unique_ptr<Gate>> make();
  virtual ~Gate() = default;

  struct Look {
    std::size_t answer_bytes = 0;  // written into `into`, for the sender
    std::optional<Opening> opening = {};
  };
  virtual Look look(Packet packet, const SocketAddress& from, std::span<std::byte> into,
                    std::int64_t now_ns) = 0;
  // For a packet with an opening that the server does not want: refuses it to the client.
  virtual std::size_t refuse(Packet packet, std::span<std::byte> into) = 0;
};

}  // namespace chokepoint::probe::quic
