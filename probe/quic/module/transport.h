// A connection by ngtcp2, at either end, and its streams: handshake.cc opens it and does its TLS,
// connection.cc moves its packets, streams.cc knows what its streams carry. All callbacks run
// inside read(), write() and expire().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probe/quic/connection.h"
#include "probe/quic/module/ngtcp2.h"

namespace chokepoint::probe::quic::module {

// What streams carry is sent in pieces of this size.
inline constexpr std::size_t kPieceBytes = std::size_t{16} << 10;

struct Stream {
  std::int64_t id = 0;
  std::size_t index = 0;  // among those of its direction
  // What is sent: first the header, then `left` bytes, then the end.
  const std::uint8_t* header = nullptr;
  std::size_t header_left = 0;
  std::uint64_t left = 0;
  bool counts = false;   // its data is the test's
  bool may_send = true;  // false while a request for its data is not complete
  bool ended = false;    // its end was sent
  bool blocked = false;  // by the peer's window
  // What the peer asked for (Protocol::Perf), as far as it has arrived.
  std::uint64_t asked_bytes = 0;
  std::size_t asked_arrived = 0;  // bytes of that number
  // The header included.
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
  bool is_counted_whole = false;
};

// Of both ends. Owned by the connection, whose callbacks call it.
class Streams {
 public:
  static constexpr std::uint64_t kEndless = UINT64_MAX;  // bytes left, until finish()

  Streams(const Tuning& tuning, bool is_server);

  Result<> open_unidirectional(ngtcp2_conn* connection, int count);
  Result<> open_perf(ngtcp2_conn* connection, int count, bool uploads);
  // The request that every client of Protocol::Chokepoint makes.
  Result<> open_request(ngtcp2_conn* connection);
  void finish() { finishing_ = true; }
  void allow(std::uint64_t bytes) { allowed_bytes_ = bytes; }
  // 0-RTT was refused: what was opened is gone.
  void forget_all() { streams_.clear(); }

  // What ngtcp2 reports. False: the connection has to end.
  bool arrived(ngtcp2_conn* connection, std::uint32_t flags, std::int64_t id,
               std::span<const std::uint8_t> data, Stream* stream);
  void was_reset(ngtcp2_conn* connection, std::int64_t id, Stream* stream);
  void acknowledged(Stream* stream, std::uint64_t bytes);
  void closed(ngtcp2_conn* connection, std::int64_t id, Stream* stream);

  // What to send next. `stream` is null where only the connection itself may have something.
  struct Piece {
    Stream* stream = nullptr;
    std::array<ngtcp2_vec, 2> parts = {};
    std::size_t part_count = 0;
    std::size_t bytes = 0;
    bool with_end = false;
  };
  Piece next(ngtcp2_conn* connection);
  void sent(const Piece& piece, std::uint64_t bytes);
  // Why nothing was sent, after next() had this for a stream.
  Wait why_not(ngtcp2_conn* connection, const Stream* tried) const;

  bool is_answered() const { return answered_; }
  const StreamCounts& counts() const { return counts_; }
  // Looks at every stream.
  const StreamCounts& counts(ngtcp2_conn* connection) const;
  std::span<const std::uint64_t> received() const { return received_; }
  std::span<const std::uint64_t> acknowledged() const { return acknowledged_; }

 private:
  Stream& add(ngtcp2_conn* connection, const Stream& stream);
  void arrived_request(ngtcp2_conn* connection, std::int64_t id, std::span<const std::uint8_t> data,
                       bool ended, Stream* stream);
  Stream& request_of(ngtcp2_conn* connection, std::int64_t id, Stream* stream);
  void count_arrived(std::size_t index, std::size_t bytes);
  void count_whole(Stream& stream);
  bool wants_to_send(const Stream& stream) const { return stream.may_send && !stream.ended; }
  bool can_send(ngtcp2_conn* connection, const Stream& stream) const;

  Protocol protocol_;
  bool is_server_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::size_t cursor_ = 0;
  std::uint64_t allowed_bytes_ = UINT64_MAX;
  bool finishing_ = false;
  bool answered_ = false;
  mutable StreamCounts counts_ = {};
  std::uint64_t lost_of_closed_ = 0;
  std::vector<std::uint64_t> received_;      // by stream
  std::vector<std::uint64_t> acknowledged_;  // by stream
};

class Ngtcp2Connection : public Connection {
 public:
  Ngtcp2Connection(const Ends& ends, const Tuning& tuning, bool is_server)
      : ends_(ends),
        protocol_(tuning.protocol),
        reference_{.get_conn = own_connection, .user_data = this},
        streams_(tuning, is_server),
        is_server_(is_server) {}
  Ngtcp2Connection(const Ngtcp2Connection&) = delete;
  Ngtcp2Connection& operator=(const Ngtcp2Connection&) = delete;
  ~Ngtcp2Connection() override { ngtcp2_conn_del(connection_); }

  Result<> open_as_server(const Identity& identity, const Tuning& tuning, Packet first,
                          const Opening* retried, std::int64_t now_ns);
  Result<> open_as_client(const Expected& server, const Tuning& tuning, const Ticket* ticket,
                          std::int64_t now_ns);

  bool is_for_another(Packet packet) const override;
  Result<> read(Packet packet, unsigned ecn, std::int64_t now_ns) override;
  Result<Written> write(std::span<std::byte> into, std::int64_t now_ns) override;
  void sent(std::int64_t now_ns) override {
    ngtcp2_conn_update_pkt_tx_time(connection_, stamp(now_ns));
  }
  std::size_t burst_bytes() const override { return ngtcp2_conn_get_send_quantum(connection_); }
  std::int64_t expiry_ns() const override {
    return static_cast<std::int64_t>(
        std::min<ngtcp2_tstamp>(ngtcp2_conn_get_expiry(connection_), INT64_MAX));
  }
  Result<> expire(std::int64_t now_ns) override;
  std::size_t close(std::span<std::byte> into, std::int64_t now_ns) override;

  bool is_closed() const override { return closed_; }
  std::string close_reason() const override;
  bool is_ready() const override { return ready_; }
  bool is_answered() const override { return streams_.is_answered(); }
  bool has_used_early_data() const override { return early_accepted_; }
  std::optional<Ticket> ticket() const override { return ticket_; }

  Result<> open_streams(int count) override {
    return protocol_ == Protocol::Perf ? streams_.open_perf(connection_, count, true)
                                       : streams_.open_unidirectional(connection_, count);
  }
  Result<> request_streams(int count) override {
    return streams_.open_perf(connection_, count, false);
  }
  void finish() override { streams_.finish(); }
  void allow(std::uint64_t bytes) override { streams_.allow(bytes); }

  std::uint64_t received_bytes() const override { return streams_.counts().received_bytes; }
  std::uint64_t acknowledged_bytes() const override { return streams_.counts().acknowledged_bytes; }
  const StreamCounts& counts() const override { return streams_.counts(connection_); }
  std::span<const std::uint64_t> received_by_stream() const override { return streams_.received(); }
  std::span<const std::uint64_t> acknowledged_by_stream() const override {
    return streams_.acknowledged();
  }
  Statistics statistics() const override;

 protected:
  // Tests make these say what this program does not.
  ngtcp2_conn* connection_ = nullptr;
  TlsSession tls_;

 private:
  static Ngtcp2Connection& of(void* user_data) {
    return *static_cast<Ngtcp2Connection*>(user_data);
  }
  static Ngtcp2Connection& of(gnutls_session_t session) {
    return of(static_cast<ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session))->user_data);
  }
  static ngtcp2_conn* own_connection(ngtcp2_crypto_conn_ref* reference) {
    return of(reference->user_data).connection_;
  }
  static ngtcp2_callbacks callbacks();
  static int on_ticket(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                       const gnutls_datum_t* message);
  static int on_certificate(gnutls_session_t session);

  ngtcp2_path path() const;
  Result<> start_tls(unsigned flags);
  Result<> resume(const Ticket& ticket);
  int handshake_completed();
  bool refused_early_data();
  void keep_ticket();
  Error failure(int code) const;
  // close() sends it to the peer.
  std::unexpected<Error> failed(int code);

  Ends ends_;
  Protocol protocol_;
  ngtcp2_crypto_conn_ref reference_;
  Credentials own_credentials_;  // of a client
  Expected expected_;
  bool wrong_certificate_ = false;
  int failed_ = 0;  // ngtcp2's code for what has ended the connection at this end

  Streams streams_;
  bool is_server_;
  bool closed_ = false;
  bool ready_ = false;
  bool requested_ = false;
  bool early_ = false;
  bool early_accepted_ = false;
  std::optional<Ticket> ticket_ = {};
};

}  // namespace chokepoint::probe::quic::module
