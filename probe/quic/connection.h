// A QUIC connection that carries a test's streams, behind what this project needs of a QUIC
// library. ngtcp2.cc implements it; where the library was missing at build time, missing.cc does,
// and can_quic() is false. Nothing here reads or writes a socket: packets and the time are handed
// in and out. One thread. A connection borrows the identity or the pin that it was made with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/net/address.h"
#include "base/sys/error.h"
#include "probe/quic/measurement.h"
#include "probe/quic/parameters.h"

namespace chokepoint::probe::quic {

// Whether this build has QUIC. `missing_quic()` is what to tell the user if it has not.
bool can_quic();
Error missing_quic();
std::string library_version();  // "ngtcp2 0.12.1"; empty without one

using Packet = std::span<const std::byte>;

// The largest UDP payload that is ever written: what path MTU discovery may find.
inline constexpr std::size_t kMaxPayload = 1452;

// A key and a certificate made on the spot, and what resumption needs of a server.
class Identity {
 public:
  static Result<std::unique_ptr<Identity>> make();
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;
  ~Identity();

  const Fingerprint& fingerprint() const;

  struct Private;
  Private& inner() const { return *private_; }

 private:
  explicit Identity(std::unique_ptr<Private> inner);
  std::unique_ptr<Private> private_;
};

// What a client keeps of a connection, so that its next one can send data in the first flight.
struct Ticket {
  std::string session = {};
  std::string transport = {};
};

struct Ends {
  net::Endpoint local;
  net::Endpoint peer;
};

struct Tuning {
  Congestion congestion = Congestion::Cubic;
  std::uint64_t window_bytes = 0;
  int streams = 0;  // that the peer may open
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

// Stream data, without what is sent again.
struct StreamCounts {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  // Packets with stream data that the library declared lost, and whose data was sent again.
  std::uint64_t lost_packets = 0;
  int sent_whole = 0;      // streams of this end, up to their end and acknowledged
  int received_whole = 0;  // streams of the peer, up to their end
};

class Connection {
 public:
  virtual ~Connection() = default;

  // A server's connection for the packet that opens it, which read() is given next.
  static Result<std::unique_ptr<Connection>> accept(const Identity& identity, const Ends& ends,
                                                    const Tuning& tuning, Packet first,
                                                    std::int64_t now_ns);
  // The peer has to show the certificate with this fingerprint. With a ticket the request that
  // every client makes goes into the first flight.
  static Result<std::unique_ptr<Connection>> connect(const Fingerprint& pin, const Ends& ends,
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
  // The packet that tells the peer that this is over; 0 where none can be written.
  virtual std::size_t close(std::span<std::byte> into, std::int64_t now_ns) = 0;

  virtual bool is_closed() const = 0;    // by the peer
  virtual bool is_ready() const = 0;     // the handshake is complete
  virtual bool is_answered() const = 0;  // the client's request was answered
  virtual bool has_used_early_data() const = 0;
  virtual std::optional<Ticket> ticket() const = 0;

  // Opens this end's streams; each sends until finish().
  virtual Result<> open_streams(int count) = 0;
  virtual void finish() = 0;
  // No more than this many bytes in total; unlimited until it is called.
  virtual void allow(std::uint64_t bytes) = 0;

  virtual std::uint64_t received_bytes() const = 0;
  // Looks at every stream.
  virtual const StreamCounts& counts() const = 0;
  virtual std::span<const std::uint64_t> received_by_stream() const = 0;
  virtual Statistics statistics() const = 0;
};

}  // namespace chokepoint::probe::quic
