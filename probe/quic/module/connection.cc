#include <algorithm>
#include <vector>

#include "probe/quic/module/interface.h"
#include "probe/quic/module/ngtcp2.h"
#include "probe/quic/module/transport.h"

namespace chokepoint::probe::quic::module {
namespace {

void fill_random(std::uint8_t* into, std::size_t bytes, const ngtcp2_rand_ctx* /*context*/) {
  gnutls_rnd(GNUTLS_RND_NONCE, into, bytes);
}

int new_id(ngtcp2_conn* /*connection*/, ngtcp2_cid* id, std::uint8_t* token, std::size_t bytes,
           void* /*user_data*/) {
  *id = random_id(bytes);
  return gnutls_rnd(GNUTLS_RND_RANDOM, token, NGTCP2_STATELESS_RESET_TOKENLEN) == 0
             ? 0
             : NGTCP2_ERR_CALLBACK_FAILURE;
}

Stream* stream_of(void* stream_user_data) { return static_cast<Stream*>(stream_user_data); }

std::string alert_text(std::uint64_t alert) {
  const char* name = gnutls_alert_get_name(static_cast<gnutls_alert_description_t>(alert));
  return name == nullptr ? "alert " + std::to_string(alert) : name;
}

#ifdef CHOKEPOINT_NGTCP2_1
using CloseError = ngtcp2_ccerr;
constexpr auto* kSetNoError = ngtcp2_ccerr_default;
constexpr auto* kSetLibraryError = ngtcp2_ccerr_set_liberr;
constexpr auto* kSetTlsAlert = ngtcp2_ccerr_set_tls_alert;
#else
using CloseError = ngtcp2_connection_close_error;
constexpr auto* kSetNoError = ngtcp2_connection_close_error_default;
constexpr auto* kSetLibraryError = ngtcp2_connection_close_error_set_transport_error_liberr;
constexpr auto* kSetTlsAlert = ngtcp2_connection_close_error_set_transport_error_tls_alert;
#endif

}  // namespace

ngtcp2_callbacks Ngtcp2Connection::callbacks() {
  ngtcp2_callbacks calls{};
  calls.client_initial = ngtcp2_crypto_client_initial_cb;
  calls.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
  calls.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
  calls.encrypt = ngtcp2_crypto_encrypt_cb;
  calls.decrypt = ngtcp2_crypto_decrypt_cb;
  calls.hp_mask = ngtcp2_crypto_hp_mask_cb;
  calls.recv_retry = ngtcp2_crypto_recv_retry_cb;
  calls.update_key = ngtcp2_crypto_update_key_cb;
  calls.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
  calls.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
  calls.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
  calls.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
  calls.rand = fill_random;
  calls.get_new_connection_id = new_id;
  calls.handshake_completed = [](ngtcp2_conn*, void* user) {
    return of(user).handshake_completed();
  };
  calls.recv_stream_data = [](ngtcp2_conn* connection, std::uint32_t flags, std::int64_t id,
                              std::uint64_t, const std::uint8_t* data, std::size_t bytes,
                              void* user, void* stream) {
    return of(user).streams_.arrived(connection, flags, id, {data, bytes}, stream_of(stream))
               ? 0
               : NGTCP2_ERR_CALLBACK_FAILURE;
  };
  calls.acked_stream_data_offset = [](ngtcp2_conn*, std::int64_t, std::uint64_t,
                                      std::uint64_t bytes, void* user, void* stream) {
    of(user).streams_.acknowledged(stream_of(stream), bytes);
    return 0;
  };
  calls.stream_reset = [](ngtcp2_conn* connection, std::int64_t id, std::uint64_t, std::uint64_t,
                          void* user, void* stream) {
    of(user).streams_.was_reset(connection, id, stream_of(stream));
    return 0;
  };
  calls.stream_close = [](ngtcp2_conn* connection, std::uint32_t, std::int64_t id, std::uint64_t,
                          void* user, void* stream) {
    of(user).streams_.closed(connection, id, stream_of(stream));
    return 0;
  };
  calls.extend_max_stream_data = [](ngtcp2_conn*, std::int64_t, std::uint64_t, void*,
                                    void* stream) {
    if (stream != nullptr) {
      stream_of(stream)->blocked = false;
    }
    return 0;
  };
  return calls;
}

ngtcp2_path Ngtcp2Connection::path() const {
  return {.local = {.addr = const_cast<sockaddr*>(raw(ends_.local)), .addrlen = ends_.local.length},
          .remote = {.addr = const_cast<sockaddr*>(raw(ends_.peer)), .addrlen = ends_.peer.length},
          .user_data = nullptr};
}

Statistics Ngtcp2Connection::statistics() const {
#ifdef CHOKEPOINT_NGTCP2_1
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(connection_, &info);
#else
  ngtcp2_conn_stat info;
  ngtcp2_conn_get_conn_stat(connection_, &info);
#endif
  const bool measured = info.min_rtt != UINT64_MAX && info.min_rtt > 0;
  return {.smoothed_rtt_ns = measured ? static_cast<std::int64_t>(info.smoothed_rtt) : 0,
          .min_rtt_ns = measured ? static_cast<std::int64_t>(info.min_rtt) : 0,
          .cwnd_bytes = info.cwnd,
          .packet_bytes = ngtcp2_conn_get_path_max_tx_udp_payload_size(connection_)};
}

Result<Written> Ngtcp2Connection::write(std::span<std::byte> into, std::int64_t now_ns) {
  const std::size_t room =
      std::min(into.size(), ngtcp2_conn_get_max_tx_udp_payload_size(connection_));
  while (true) {
    const Streams::Piece piece = streams_.next(connection_);
    ngtcp2_ssize taken = -1;
    ngtcp2_pkt_info info{};
    ngtcp2_path path_of_packet = path();
    const ngtcp2_ssize count = ngtcp2_conn_writev_stream(
        connection_, &path_of_packet, &info, raw(into), room, &taken,
        piece.with_end ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE,
        piece.stream == nullptr ? -1 : piece.stream->id, piece.parts.data(), piece.part_count,
        stamp(now_ns));
    if (count == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
      piece.stream->blocked = true;
      continue;
    }
    // The peer has asked this end to stop sending on it (STOP_SENDING).
    if (count == NGTCP2_ERR_STREAM_SHUT_WR || count == NGTCP2_ERR_STREAM_NOT_FOUND) {
      piece.stream->ended = true;
      continue;
    }
    if (count < 0) {
      return failed(static_cast<int>(count));
    }
    if (piece.stream != nullptr && taken >= 0) {
      streams_.sent(piece, static_cast<std::uint64_t>(taken));
    }
    return Written{.bytes = static_cast<std::size_t>(count),
                   .ecn = info.ecn,
                   .wait = count == 0 ? streams_.why_not(connection_, piece.stream) : Wait::Idle};
  }
}

Result<> Ngtcp2Connection::read(Packet packet, unsigned ecn, std::int64_t now_ns) {
  const std::span<const std::uint8_t> bytes = raw(packet);
  const ngtcp2_path path_of_packet = path();
  ngtcp2_pkt_info info{};
  info.ecn = static_cast<std::uint8_t>(ecn);
  const int code = ngtcp2_conn_read_pkt(connection_, &path_of_packet, &info, bytes.data(),
                                        bytes.size(), stamp(now_ns));
  if (code == NGTCP2_ERR_DRAINING || code == NGTCP2_ERR_CLOSING || code == NGTCP2_ERR_DROP_CONN) {
    closed_ = true;
    return {};
  }
  return code == 0 ? Result<>{} : failed(code);
}

Result<> Ngtcp2Connection::expire(std::int64_t now_ns) {
  const int code = ngtcp2_conn_handle_expiry(connection_, stamp(now_ns));
  return code == 0 ? Result<>{} : failed(code);
}

std::size_t Ngtcp2Connection::close(std::span<std::byte> into, std::int64_t now_ns) {
  CloseError reason;
  if (failed_ == NGTCP2_ERR_CRYPTO) {
    kSetTlsAlert(&reason, ngtcp2_conn_get_tls_alert(connection_), nullptr, 0);
  } else if (failed_ != 0) {
    kSetLibraryError(&reason, failed_, nullptr, 0);
  } else {
    kSetNoError(&reason);
  }
  ngtcp2_pkt_info info{};
  ngtcp2_path path_of_packet = path();
  const ngtcp2_ssize count = ngtcp2_conn_write_connection_close(
      connection_, &path_of_packet, &info, raw(into), std::min(into.size(), kMaxPayload), &reason,
      stamp(now_ns));
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

std::string Ngtcp2Connection::close_reason() const {
#ifdef CHOKEPOINT_NGTCP2_1
  const CloseError& error = *ngtcp2_conn_get_ccerr(connection_);
#else
  CloseError error;
  ngtcp2_conn_get_connection_close_error(connection_, &error);
#endif
  // RFC 9000, 20.1.
  constexpr std::uint64_t kRefused = 0x02;
  constexpr std::uint64_t kTlsFirst = 0x100;
  constexpr std::uint64_t kTlsLast = 0x1ff;
  if (error.error_code == kRefused) {
    return "it refuses connections, as a busy server does";
  }
  if (error.error_code >= kTlsFirst && error.error_code <= kTlsLast) {
    return "TLS: " + alert_text(error.error_code - kTlsFirst);
  }
  // The peer's words: the dispatcher makes them printable.
  return {reinterpret_cast<const char*>(error.reason), error.reasonlen};
}

std::unexpected<Error> Ngtcp2Connection::failed(int code) {
  failed_ = code;
  return fail(failure(code));
}

Error Ngtcp2Connection::failure(int code) const {
  const auto error = [this](std::string_view reason, ErrorKind kind = ErrorKind::Io) {
    return Error{.kind = kind,
                 .operation = "quic",
                 .subject = ends_.peer_text,
                 .reason = std::string(reason)};
  };
  if (wrong_certificate_) {
    return error("its certificate is not the one that it announced", ErrorKind::Refused);
  }
  switch (code) {
    case NGTCP2_ERR_IDLE_CLOSE:
      return error("no QUIC packet came from it for 10 s", ErrorKind::Timeout);
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
      return error("it did not complete the QUIC handshake in 5 s", ErrorKind::Timeout);
    case NGTCP2_ERR_CRYPTO:
      return error("TLS failed: " + alert_text(ngtcp2_conn_get_tls_alert(connection_)));
    default:
      return error(ngtcp2_strerror(code));
  }
}

bool Ngtcp2Connection::is_for_another(Packet packet) const {
  constexpr std::uint8_t kLongHeader = 0x80;
  const std::span<const std::uint8_t> bytes = raw(packet);
  ngtcp2_pkt_hd head{};
  if (bytes.empty() || (bytes[0] & kLongHeader) == 0 ||
      ngtcp2_accept(&head, bytes.data(), bytes.size()) != 0) {
    return false;
  }
  if (ngtcp2_cid_eq(&head.dcid, ngtcp2_conn_get_client_initial_dcid(connection_)) != 0) {
    return false;
  }
#ifdef CHOKEPOINT_NGTCP2_1
  std::vector<ngtcp2_cid> own(ngtcp2_conn_get_scid(connection_, nullptr));
#else
  std::vector<ngtcp2_cid> own(ngtcp2_conn_get_num_scid(connection_));
#endif
  ngtcp2_conn_get_scid(connection_, own.data());
  return std::ranges::none_of(
      own, [&](const ngtcp2_cid& id) { return ngtcp2_cid_eq(&id, &head.dcid) != 0; });
}

}  // namespace chokepoint::probe::quic::module

extern "C" __attribute__((visibility("default"))) const chokepoint::probe::quic::module::Functions*
chokepoint_quic_functions() {
  namespace module = chokepoint::probe::quic::module;
  static constexpr module::Functions kFunctions{.layout = module::kLayout,
                                                .compiler = module::kCompiler,
                                                .library = "ngtcp2 " NGTCP2_VERSION,
                                                .make_identity = module::make_identity,
                                                .make_gate = module::make_gate,
                                                .accept = module::accept_connection,
                                                .connect = module::open_connection};
  return &kFunctions;
}
