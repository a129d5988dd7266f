// All callbacks run inside read(), write() and expire() of the connection that they are given.
#include <algorithm>
#include <cstring>

#include "probe/quic/module/ngtcp2.h"

namespace chokepoint::probe::quic::module {
namespace {

constexpr const char* kPriorities =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"
    "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:%DISABLE_TLS13_COMPAT_MODE";
constexpr std::size_t kFirstIdBytes = 18;     // of the server, made up by the client
constexpr std::uint64_t kBidirectional = 16;  // streams that a client may open for requests
constexpr ngtcp2_duration kHandshake = 5 * NGTCP2_SECONDS;
constexpr ngtcp2_duration kSilent = 10 * NGTCP2_SECONDS;

std::string_view alpn_of(Protocol protocol) {
  return protocol == Protocol::Perf ? "perf" : "chokepoint/1";
}

ngtcp2_cc_algo algorithm(Congestion congestion) {
  switch (congestion) {
    case Congestion::Bbr:
      return NGTCP2_CC_ALGO_BBR;
    case Congestion::Reno:
      return NGTCP2_CC_ALGO_RENO;
    case Congestion::Cubic:
      break;
  }
  return NGTCP2_CC_ALGO_CUBIC;
}

ngtcp2_settings settings_of(const Tuning& tuning, std::int64_t now_ns) {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.cc_algo = algorithm(tuning.congestion);
  settings.initial_ts = stamp(now_ns);
  settings.handshake_timeout = kHandshake;
  settings.max_tx_udp_payload_size = kMaxPayload;
  return settings;
}

ngtcp2_transport_params parameters_of(const Tuning& tuning) {
  const bool is_perf = tuning.protocol == Protocol::Perf;
  const auto streams = static_cast<std::uint64_t>(tuning.streams);
  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_stream_data_uni = tuning.window_bytes;
  parameters.initial_max_stream_data_bidi_local = is_perf ? tuning.window_bytes : kPieceBytes;
  parameters.initial_max_stream_data_bidi_remote = is_perf ? tuning.window_bytes : kPieceBytes;
  parameters.initial_max_data = tuning.window_bytes;
  parameters.initial_max_streams_bidi = is_perf ? streams : kBidirectional;
  parameters.initial_max_streams_uni = is_perf ? 0 : streams;
  parameters.max_idle_timeout = kSilent;
  parameters.active_connection_id_limit = 7;
  return parameters;
}

class Ngtcp2Connection final : public Connection {
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

  Ends ends_;
  Protocol protocol_;
  ngtcp2_conn* connection_ = nullptr;
  ngtcp2_crypto_conn_ref reference_;
  Credentials own_credentials_;  // of a client
  TlsSession tls_;
  Expected expected_;
  bool wrong_certificate_ = false;

  Streams streams_;
  bool is_server_;
  bool closed_ = false;
  bool ready_ = false;
  bool requested_ = false;
  bool early_ = false;
  bool early_accepted_ = false;
  std::optional<Ticket> ticket_ = {};
};

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

Result<> Ngtcp2Connection::start_tls(unsigned flags) {
  TRY_TLS("prepare", gnutls_init(&tls_.handle,
                                 flags | GNUTLS_ENABLE_EARLY_DATA | GNUTLS_NO_END_OF_EARLY_DATA));
  TRY_TLS("prepare", gnutls_priority_set_direct(tls_.handle, kPriorities, nullptr));
  TRY_TLS("prepare", is_server_ ? ngtcp2_crypto_gnutls_configure_server_session(tls_.handle)
                                : ngtcp2_crypto_gnutls_configure_client_session(tls_.handle));
  std::string name(alpn_of(protocol_));
  const gnutls_datum_t protocol{.data = reinterpret_cast<unsigned char*>(name.data()),
                                .size = static_cast<unsigned>(name.size())};
  TRY_TLS("prepare", gnutls_alpn_set_protocols(tls_.handle, &protocol, 1, GNUTLS_ALPN_MANDATORY));
  gnutls_session_set_ptr(tls_.handle, &reference_);
  ngtcp2_conn_set_tls_native_handle(connection_, tls_.handle);
  return {};
}

Result<> Ngtcp2Connection::open_as_client(const Expected& server, const Tuning& tuning,
                                          const Ticket* ticket, std::int64_t now_ns) {
  expected_ = server;
  const ngtcp2_cid own = random_id(kOwnIdBytes);
  const ngtcp2_cid first = random_id(kFirstIdBytes);
  const ngtcp2_path way = path();
  const ngtcp2_callbacks calls = callbacks();
  const ngtcp2_settings settings = settings_of(tuning, now_ns);
  const ngtcp2_transport_params parameters = parameters_of(tuning);
  if (const int code = ngtcp2_conn_client_new(&connection_, &first, &own, &way, NGTCP2_PROTO_VER_V1,
                                              &calls, &settings, &parameters, nullptr, this);
      code != 0) {
    return fail(failure(code));
  }
  TRY_TLS("prepare", gnutls_certificate_allocate_credentials(&own_credentials_.handle));
  TRY(start_tls(GNUTLS_CLIENT));
  TRY_TLS("prepare",
          gnutls_credentials_set(tls_.handle, GNUTLS_CRD_CERTIFICATE, own_credentials_.handle));
  if (!server.name.empty()) {
    TRY_TLS("prepare", gnutls_server_name_set(tls_.handle, GNUTLS_NAME_DNS, server.name.data(),
                                              server.name.size()));
  }
  gnutls_session_set_verify_function(tls_.handle, on_certificate);
  gnutls_handshake_set_hook_function(tls_.handle, GNUTLS_HANDSHAKE_NEW_SESSION_TICKET,
                                     GNUTLS_HOOK_POST, on_ticket);
  return ticket == nullptr ? Result<>{} : resume(*ticket);
}

Result<> Ngtcp2Connection::open_as_server(const Identity& identity, const Tuning& tuning,
                                          Packet first, const Opening* retried,
                                          std::int64_t now_ns) {
  const std::span<const std::uint8_t> bytes = raw(first);
  ngtcp2_pkt_hd head{};
  if (ngtcp2_accept(&head, bytes.data(), bytes.size()) != 0) {
    return fail(ErrorKind::Malformed, "quic", ends_.peer_text, "this packet opens no connection");
  }
  const ngtcp2_cid own = random_id(kOwnIdBytes);
  const ngtcp2_path way = path();
  const ngtcp2_callbacks calls = callbacks();
  ngtcp2_settings settings = settings_of(tuning, now_ns);
  ngtcp2_transport_params parameters = parameters_of(tuning);
  parameters.original_dcid = head.dcid;
#ifdef CHOKEPOINT_NGTCP2_1
  parameters.original_dcid_present = 1;
#endif
  if (retried != nullptr) {
    const auto* first_id = reinterpret_cast<const std::uint8_t*>(retried->first_id.data());
    const auto* retry_id = reinterpret_cast<const std::uint8_t*>(retried->retry_id.data());
    ngtcp2_cid_init(&parameters.original_dcid, first_id, retried->first_id.size());
    ngtcp2_cid_init(&parameters.retry_scid, retry_id, retried->retry_id.size());
    parameters.retry_scid_present = 1;
    settings.token = head.token;
#ifdef CHOKEPOINT_NGTCP2_1
    settings.tokenlen = head.tokenlen;
    settings.token_type = NGTCP2_TOKEN_TYPE_RETRY;
#endif
  }
  if (const int code = ngtcp2_conn_server_new(&connection_, &head.scid, &own, &way, head.version,
                                              &calls, &settings, &parameters, nullptr, this);
      code != 0) {
    return fail(failure(code));
  }
  TRY(start_tls(GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET));
  return use_identity(tls_.handle, identity);
}

Result<> Ngtcp2Connection::resume(const Ticket& ticket) {
  TRY_TLS("resume",
          gnutls_session_set_data(tls_.handle, ticket.session.data(), ticket.session.size()));
#ifdef CHOKEPOINT_NGTCP2_1
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(ticket.transport.data());
  if (const int code = ngtcp2_conn_decode_and_set_0rtt_transport_params(connection_, bytes,
                                                                        ticket.transport.size());
      code != 0) {
    return fail(failure(code));
  }
#else
  ngtcp2_transport_params parameters{};
  std::memcpy(&parameters, ticket.transport.data(),
              std::min(sizeof(parameters), ticket.transport.size()));
  ngtcp2_conn_set_early_remote_transport_params(connection_, &parameters);
#endif
  early_ = true;
  requested_ = true;
  return streams_.open_request(connection_);
}

void Ngtcp2Connection::keep_ticket() {
  gnutls_datum_t session{};
  if (gnutls_session_get_data2(tls_.handle, &session) < 0) {
    return;
  }
  Ticket ticket{.session = {reinterpret_cast<const char*>(session.data), session.size}};
  gnutls_free(session.data);
#ifdef CHOKEPOINT_NGTCP2_1
  std::array<std::uint8_t, 512> bytes{};
  const ngtcp2_ssize count =
      ngtcp2_conn_encode_0rtt_transport_params(connection_, bytes.data(), bytes.size());
  if (count < 0) {
    return;
  }
  ticket.transport.assign(reinterpret_cast<const char*>(bytes.data()),
                          static_cast<std::size_t>(count));
#else
  const auto* parameters = ngtcp2_conn_get_remote_transport_params(connection_);
  if (parameters == nullptr) {
    return;
  }
  ticket.transport.assign(reinterpret_cast<const char*>(parameters), sizeof(*parameters));
#endif
  ticket_ = std::move(ticket);
}

int Ngtcp2Connection::on_ticket(gnutls_session_t session, unsigned /*type*/, unsigned /*when*/,
                                unsigned /*incoming*/, const gnutls_datum_t* /*message*/) {
  of(session).keep_ticket();
  return 0;
}

int Ngtcp2Connection::on_certificate(gnutls_session_t session) {
  Ngtcp2Connection& own = of(session);
  if (!own.expected_.certificate) {
    return 0;
  }
  unsigned count = 0;
  const gnutls_datum_t* certificates = gnutls_certificate_get_peers(session, &count);
  Fingerprint shown{};
  std::size_t bytes = shown.size();
  const bool is_expected =
      certificates != nullptr && count > 0 &&
      gnutls_fingerprint(GNUTLS_DIG_SHA256, certificates, shown.data(), &bytes) == 0 &&
      shown == *own.expected_.certificate;
  own.wrong_certificate_ = !is_expected;
  return is_expected ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

int Ngtcp2Connection::handshake_completed() {
  ready_ = true;
  if (is_server_) {
    return gnutls_session_ticket_send(tls_.handle, 1, 0) == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
  }
  early_accepted_ = early_ && (gnutls_session_get_flags(tls_.handle) & GNUTLS_SFLAGS_EARLY_DATA);
  if (early_ && !early_accepted_ && !refused_early_data()) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  const bool is_missing = protocol_ == Protocol::Chokepoint && !requested_;
  return !is_missing || streams_.open_request(connection_) ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}

bool Ngtcp2Connection::refused_early_data() {
  streams_.forget_all();
  requested_ = false;
#ifdef CHOKEPOINT_NGTCP2_1
  return ngtcp2_conn_tls_early_data_rejected(connection_) == 0;
#else
  return ngtcp2_conn_early_data_rejected(connection_) == 0;
#endif
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
    ngtcp2_path way = path();
    const ngtcp2_ssize count = ngtcp2_conn_writev_stream(
        connection_, &way, &info, raw(into), room, &taken,
        piece.with_end ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE,
        piece.stream == nullptr ? -1 : piece.stream->id, piece.parts.data(), piece.part_count,
        stamp(now_ns));
    if (count == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
      piece.stream->blocked = true;
      continue;
    }
    // The peer has told this end to stop sending on it.
    if (count == NGTCP2_ERR_STREAM_SHUT_WR || count == NGTCP2_ERR_STREAM_NOT_FOUND) {
      piece.stream->ended = true;
      continue;
    }
    if (count < 0) {
      return fail(failure(static_cast<int>(count)));
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
  const ngtcp2_path way = path();
  ngtcp2_pkt_info info{};
  info.ecn = static_cast<std::uint8_t>(ecn);
  const int code =
      ngtcp2_conn_read_pkt(connection_, &way, &info, bytes.data(), bytes.size(), stamp(now_ns));
  if (code == NGTCP2_ERR_DRAINING || code == NGTCP2_ERR_CLOSING || code == NGTCP2_ERR_DROP_CONN) {
    closed_ = true;
    return {};
  }
  return code == 0 ? Result<>{} : fail(failure(code));
}

Result<> Ngtcp2Connection::expire(std::int64_t now_ns) {
  const int code = ngtcp2_conn_handle_expiry(connection_, stamp(now_ns));
  return code == 0 ? Result<>{} : fail(failure(code));
}

std::size_t Ngtcp2Connection::close(std::span<std::byte> into, std::int64_t now_ns) {
#ifdef CHOKEPOINT_NGTCP2_1
  ngtcp2_ccerr reason;
  ngtcp2_ccerr_default(&reason);
#else
  ngtcp2_connection_close_error reason;
  ngtcp2_connection_close_error_default(&reason);
#endif
  ngtcp2_pkt_info info{};
  ngtcp2_path way = path();
  const ngtcp2_ssize count = ngtcp2_conn_write_connection_close(connection_, &way, &info, raw(into),
                                                                std::min(into.size(), kMaxPayload),
                                                                &reason, stamp(now_ns));
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

std::string alert_text(std::uint64_t alert) {
  const char* name = gnutls_alert_get_name(static_cast<gnutls_alert_description_t>(alert));
  return name == nullptr ? "alert " + std::to_string(alert) : name;
}

std::string Ngtcp2Connection::close_reason() const {
#ifdef CHOKEPOINT_NGTCP2_1
  const ngtcp2_ccerr& error = *ngtcp2_conn_get_ccerr(connection_);
#else
  ngtcp2_connection_close_error error;
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

}  // namespace

Result<std::unique_ptr<Connection>> accept_connection(const Identity& identity, const Ends& ends,
                                                      const Tuning& tuning, Packet first,
                                                      const Opening* retried, std::int64_t now_ns) {
  auto connection = std::make_unique<Ngtcp2Connection>(ends, tuning, true);
  TRY(connection->open_as_server(identity, tuning, first, retried, now_ns));
  return connection;
}

Result<std::unique_ptr<Connection>> open_connection(const Expected& server, const Ends& ends,
                                                    const Tuning& tuning, const Ticket* ticket,
                                                    std::int64_t now_ns) {
  auto connection = std::make_unique<Ngtcp2Connection>(ends, tuning, false);
  TRY(connection->open_as_client(server, tuning, ticket, now_ns));
  return connection;
}

}  // namespace chokepoint::probe::quic::module
