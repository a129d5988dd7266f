// What the module's sources share: the differences of ngtcp2 0.12 and 1.x, GnuTLS's handles owned,
// and what interface.h offers to the program.
#pragma once

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "probe/quic/connection.h"

#if NGTCP2_VERSION_NUM >= 0x010000
#define CHOKEPOINT_NGTCP2_1 1
#endif

namespace chokepoint::probe::quic::module {

inline constexpr std::size_t kOwnIdBytes = 8;  // of what this end calls itself in packets

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

Result<std::unique_ptr<Identity>> make_identity();
Result<std::unique_ptr<Gate>> make_gate();
Result<std::unique_ptr<Connection>> accept_connection(const Identity& identity, const Ends& ends,
                                                      const Tuning& tuning, Packet first,
                                                      const Opening* retried, std::int64_t now_ns);
Result<std::unique_ptr<Connection>> open_connection(const Expected& server, const Ends& ends,
                                                    const Tuning& tuning, const Ticket* ticket,
                                                    std::int64_t now_ns);

}  // namespace chokepoint::probe::quic::module
