// How a connection is opened at either end, and what TLS has to do with it.
#include <algorithm>
#include <array>
#include <cstring>

#include "probe/quic/module/transport.h"

namespace chokepoint::probe::quic::module {
namespace {

constexpr const char* kPriorities =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"
    "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:%DISABLE_TLS13_COMPAT_MODE";
constexpr std::size_t kFirstIdBytes = 18;     // of the server, made up by the client
constexpr std::uint64_t kBidirectional = 16;  // streams that a client may open for requests
constexpr ngtcp2_duration kHandshake = 5 * NGTCP2_SECONDS;
constexpr ngtcp2_duration kSilent = 10 * NGTCP2_SECONDS;
// Of a client that is silent: its host tells where its program is gone.
constexpr ngtcp2_duration kAskAfter = NGTCP2_SECONDS;

std::string_view alpn_of(Protocol protocol) {
  return protocol == Protocol::Perf ? "perf" : "chokepoint/1";
}

ngtcp2_cc_algo algorithm(documents::QuicCongestion congestion) {
  switch (congestion) {
    case documents::QuicCongestion::Bbr:
      return NGTCP2_CC_ALGO_BBR;
    case documents::QuicCongestion::Reno:
      return NGTCP2_CC_ALGO_RENO;
    case documents::QuicCongestion::Cubic:
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

}  // namespace

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
  const ngtcp2_path path_of_packet = path();
  const ngtcp2_callbacks calls = callbacks();
  const ngtcp2_settings settings = settings_of(tuning, now_ns);
  const ngtcp2_transport_params parameters = parameters_of(tuning);
  if (const int code =
          ngtcp2_conn_client_new(&connection_, &first, &own, &path_of_packet, NGTCP2_PROTO_VER_V1,
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
  const ngtcp2_path path_of_packet = path();
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
  if (const int code =
          ngtcp2_conn_server_new(&connection_, &head.scid, &own, &path_of_packet, head.version,
                                 &calls, &settings, &parameters, nullptr, this);
      code != 0) {
    return fail(failure(code));
  }
  if (protocol_ == Protocol::Perf) {
    ngtcp2_conn_set_keep_alive_timeout(connection_, kAskAfter);
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
