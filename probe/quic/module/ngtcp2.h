// What the module's sources share: ngtcp2 0.12 and 1.x told apart, GnuTLS's handles owned, and the
// streams of a connection.
#pragma once

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"
#include "probe/quic/connection.h"

#if NGTCP2_VERSION_NUM >= 0x010000
#define CHOKEPOINT_NGTCP2_1 1
#endif

namespace chokepoint::probe::quic::module {

inline constexpr std::size_t kOwnIdBytes = 8;  // of what this end calls itself in packets
// What streams carry is sent in pieces of this size.
inline constexpr std::size_t kPieceBytes = std::size_t{16} << 10;

inline std::span<const std::uint8_t> raw(Packet packet) {
  return {reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size()};
}
inline std::uint8_t* raw(std::span<std::byte> into) {
  return reinterpret_cast<std::uint8_t*>(into.data());
}
inline const sockaddr* raw(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.bytes);
}
inline ngtcp2_tstamp stamp(std::int64_t ns) { return static_cast<ngtcp2_tstamp>(ns); }

ngtcp2_cid random_id(std::size_t bytes);
Error tls_error(std::string_view operation, int code);

#define TRY_TLS(operation, call)               \
  if (const int code = (call); code < 0) {     \
    return fail(tls_error((operation), code)); \
  }                                            \
  static_assert(true)

struct TlsSession {
  gnutls_session_t handle = nullptr;
  TlsSession() = default;
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession() {
    if (handle != nullptr) {
      gnutls_deinit(handle);
    }
  }
};

struct Credentials {
  gnutls_certificate_credentials_t handle = nullptr;
  Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  ~Credentials() {
    if (handle != nullptr) {
      gnutls_certificate_free_credentials(handle);
    }
  }
};

// A server's side of TLS: its certificate, and the key of its tickets.
Result<> use_identity(gnutls_session_t session, const Identity& identity);

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
  // What the peer asked for (Protocol::Perf), as far as it has come.
  std::uint64_t asked_bytes = 0;
  std::size_t asked_digits = 0;
  // The header included.
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
  bool is_counted_whole = false;
};

// The streams of a connection, of both ends, and what they carry. Owned by the connection, whose
// callbacks call it.
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
  bool arrived_request(ngtcp2_conn* connection, std::int64_t id, std::span<const std::uint8_t> data,
                       bool ended, Stream* stream);
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

Result<std::unique_ptr<Identity>> make_identity();
Result<std::unique_ptr<Gate>> make_gate();
Result<std::unique_ptr<Connection>> accept_connection(const Identity& identity, const Ends& ends,
                                                      const Tuning& tuning, Packet first,
                                                      const Opening* retried, std::int64_t now_ns);
Result<std::unique_ptr<Connection>> open_connection(const Expected& server, const Ends& ends,
                                                    const Tuning& tuning, const Ticket* ticket,
                                                    std::int64_t now_ns);

}  // namespace chokepoint::probe::quic::module
