// QUIC by ngtcp2 with GnuTLS: the only file that knows either. Written for ngtcp2 0.12 and from 1.0
// on. All callbacks run inside read(), write() and expire() of the connection that they are given.
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <vector>

#include "probe/quic/connection.h"

namespace chokepoint::probe::quic {
namespace {

constexpr std::string_view kProtocol = "chokepoint/1";  // ALPN
constexpr const char* kPriorities =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"
    "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:%DISABLE_TLS13_COMPAT_MODE";
constexpr std::size_t kOwnIdBytes = 8;
constexpr std::size_t kFirstIdBytes = 18;  // of the server, made up by the client
constexpr std::uint64_t kRequestBytes = 16;
constexpr std::uint64_t kEndless = UINT64_MAX;
constexpr std::uint64_t kBidirectional = 16;  // streams that a client may open for requests
constexpr ngtcp2_duration kHandshake = 5 * NGTCP2_SECONDS;
constexpr ngtcp2_duration kSilent = 10 * NGTCP2_SECONDS;
constexpr std::size_t kPayloadBytes = std::size_t{16} << 10;

#if NGTCP2_VERSION_NUM >= 0x010000
using CloseError = ngtcp2_ccerr;
void clear(CloseError& error) { ngtcp2_ccerr_default(&error); }
#else
using CloseError = ngtcp2_connection_close_error;
void clear(CloseError& error) { ngtcp2_connection_close_error_default(&error); }
#endif

std::span<const std::uint8_t> raw(Packet packet) {
  return {reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size()};
}

ngtcp2_tstamp stamp(std::int64_t ns) { return static_cast<ngtcp2_tstamp>(ns); }

Error tls_error(std::string_view operation, int code) {
  return {.kind = ErrorKind::Io,
          .operation = std::string(operation),
          .subject = "TLS",
          .reason = gnutls_strerror(code)};
}

Error quic_error(const net::Endpoint& peer, std::string_view reason,
                 ErrorKind kind = ErrorKind::Io) {
  return {.kind = kind, .operation = "quic", .subject = peer.text(), .reason = std::string(reason)};
}

#define TRY_TLS(operation, call)               \
  if (const int code = (call); code < 0) {     \
    return fail(tls_error((operation), code)); \
  }                                            \
  static_assert(true)

// What every stream carries. The library keeps pointers into it until it is acknowledged.
const std::array<std::uint8_t, kPayloadBytes>& payload() {
  static const auto bytes = [] {
    std::array<std::uint8_t, kPayloadBytes> random{};
    gnutls_rnd(GNUTLS_RND_NONCE, random.data(), random.size());
    return random;
  }();
  return bytes;
}

ngtcp2_cid random_id(std::size_t bytes) {
  ngtcp2_cid id{};
  id.datalen = bytes;
  gnutls_rnd(GNUTLS_RND_RANDOM, id.data, bytes);
  return id;
}

// A path's two addresses, in the form that the library keeps pointers to.
class Path {
 public:
  explicit Path(const Ends& ends)
      : local_bytes_(ends.local.to_socket(local_)), peer_bytes_(ends.peer.to_socket(peer_)) {}

  ngtcp2_path get() {
    return {.local = {.addr = reinterpret_cast<sockaddr*>(&local_), .addrlen = local_bytes_},
            .remote = {.addr = reinterpret_cast<sockaddr*>(&peer_), .addrlen = peer_bytes_},
            .user_data = nullptr};
  }

 private:
  sockaddr_storage local_{};
  sockaddr_storage peer_{};
  socklen_t local_bytes_;
  socklen_t peer_bytes_;
};

struct Stream {
  std::int64_t id = 0;
  std::uint64_t left = 0;  // bytes to be sent; kEndless until finish()
  bool ended = false;      // its end was sent
  bool blocked = false;    // by the peer's window
};

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
  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_stream_data_uni = tuning.window_bytes;
  parameters.initial_max_stream_data_bidi_local = kPayloadBytes;
  parameters.initial_max_stream_data_bidi_remote = kPayloadBytes;
  parameters.initial_max_data = tuning.window_bytes;
  parameters.initial_max_streams_bidi = kBidirectional;
  parameters.initial_max_streams_uni = static_cast<std::uint64_t>(tuning.streams);
  parameters.max_idle_timeout = kSilent;
  parameters.active_connection_id_limit = 7;
  return parameters;
}

class Ngtcp2Connection final : public Connection {
 public:
  Ngtcp2Connection(const Ends& ends, const Tuning& tuning, bool is_server)
      : peer_(ends.peer),
        path_(ends),
        reference_{.get_conn = own_connection, .user_data = this},
        received_by_stream_(static_cast<std::size_t>(tuning.streams)),
        is_server_(is_server) {}
  Ngtcp2Connection(const Ngtcp2Connection&) = delete;
  Ngtcp2Connection& operator=(const Ngtcp2Connection&) = delete;
  ~Ngtcp2Connection() override { ngtcp2_conn_del(connection_); }

  Result<> open_as_server(const Identity& identity, const Tuning& tuning, Packet first,
                          std::int64_t now_ns);
  Result<> open_as_client(const Fingerprint& pin, const Tuning& tuning, const Ticket* ticket,
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
  bool is_ready() const override { return ready_; }
  bool is_answered() const override { return answered_; }
  bool has_used_early_data() const override { return early_accepted_; }
  std::optional<Ticket> ticket() const override { return ticket_; }

  Result<> open_streams(int count) override;
  void finish() override { finishing_ = true; }
  void allow(std::uint64_t bytes) override { allowed_bytes_ = bytes; }

  std::uint64_t received_bytes() const override { return counts_.received_bytes; }
  const StreamCounts& counts() const override;
  std::span<const std::uint64_t> received_by_stream() const override { return received_by_stream_; }
  Statistics statistics() const override;

 private:
  static Ngtcp2Connection& of(void* user_data) {
    return *static_cast<Ngtcp2Connection*>(user_data);
  }
  static ngtcp2_conn* own_connection(ngtcp2_crypto_conn_ref* reference) {
    return of(reference->user_data).connection_;
  }
  static ngtcp2_callbacks callbacks();
  static int on_ticket(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                       const gnutls_datum_t* message);
  static int on_certificate(gnutls_session_t session);

  Result<> start_tls(unsigned flags, const gnutls_certificate_credentials_t& credentials);
  Result<> resume(const Ticket& ticket);
  int handshake_completed();
  int data_arrived(std::uint32_t flags, std::int64_t id, std::size_t bytes);
  void stream_closed(std::int64_t id);
  void unblocked(std::int64_t id);
  Result<> open_request();
  void keep_ticket();

  bool wants_to_send(const Stream& stream) const {
    return !stream.ended && (stream.left > 0 || finishing_);
  }
  bool is_last(const Stream& stream) const { return stream.left != kEndless || finishing_; }
  bool can_send(const Stream& stream) const;
  Stream* next_stream();
  Wait why_not(const Stream* tried) const;
  void note_sent(Stream& stream, std::uint64_t bytes, bool with_end);
  Error failure(int code) const;

  net::Endpoint peer_;
  Path path_;
  ngtcp2_conn* connection_ = nullptr;
  ngtcp2_crypto_conn_ref reference_;
  Credentials own_credentials_;  // of a client
  TlsSession tls_;
  const Fingerprint* pin_ = nullptr;
  bool wrong_certificate_ = false;

  std::vector<Stream> streams_;
  std::size_t cursor_ = 0;
  std::uint64_t allowed_bytes_ = UINT64_MAX;
  bool finishing_ = false;
  mutable StreamCounts counts_ = {};
  std::uint64_t lost_of_closed_ = 0;
  std::vector<std::uint64_t> received_by_stream_;

  bool is_server_;
  bool closed_ = false;
  bool ready_ = false;
  bool requested_ = false;
  bool answered_ = false;
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
  calls.recv_stream_data = [](ngtcp2_conn*, std::uint32_t flags, std::int64_t id, std::uint64_t,
                              const std::uint8_t*, std::size_t bytes, void* user,
                              void*) { return of(user).data_arrived(flags, id, bytes); };
  calls.stream_close = [](ngtcp2_conn*, std::uint32_t, std::int64_t id, std::uint64_t, void* user,
                          void*) {
    of(user).stream_closed(id);
    return 0;
  };
  calls.extend_max_stream_data = [](ngtcp2_conn*, std::int64_t id, std::uint64_t, void* user,
                                    void*) {
    of(user).unblocked(id);
    return 0;
  };
  return calls;
}

Result<> Ngtcp2Connection::start_tls(unsigned flags,
                                     const gnutls_certificate_credentials_t& credentials) {
  TRY_TLS("prepare", gnutls_init(&tls_.handle,
                                 flags | GNUTLS_ENABLE_EARLY_DATA | GNUTLS_NO_END_OF_EARLY_DATA));
  TRY_TLS("prepare", gnutls_priority_set_direct(tls_.handle, kPriorities, nullptr));
  TRY_TLS("prepare", is_server_ ? ngtcp2_crypto_gnutls_configure_server_session(tls_.handle)
                                : ngtcp2_crypto_gnutls_configure_client_session(tls_.handle));
  TRY_TLS("prepare", gnutls_credentials_set(tls_.handle, GNUTLS_CRD_CERTIFICATE, credentials));
  std::array<unsigned char, kProtocol.size()> name{};
  std::ranges::copy(kProtocol, name.begin());
  const gnutls_datum_t protocol{.data = name.data(), .size = name.size()};
  TRY_TLS("prepare", gnutls_alpn_set_protocols(tls_.handle, &protocol, 1, GNUTLS_ALPN_MANDATORY));
  gnutls_session_set_ptr(tls_.handle, &reference_);
  ngtcp2_conn_set_tls_native_handle(connection_, tls_.handle);
  return {};
}

Result<> Ngtcp2Connection::open_as_client(const Fingerprint& pin, const Tuning& tuning,
                                          const Ticket* ticket, std::int64_t now_ns) {
  pin_ = &pin;
  const ngtcp2_cid own = random_id(kOwnIdBytes);
  const ngtcp2_cid first = random_id(kFirstIdBytes);
  const ngtcp2_path path = path_.get();
  const ngtcp2_callbacks calls = callbacks();
  const ngtcp2_settings settings = settings_of(tuning, now_ns);
  const ngtcp2_transport_params parameters = parameters_of(tuning);
  if (const int code =
          ngtcp2_conn_client_new(&connection_, &first, &own, &path, NGTCP2_PROTO_VER_V1, &calls,
                                 &settings, &parameters, nullptr, this);
      code != 0) {
    return fail(failure(code));
  }
  TRY_TLS("prepare", gnutls_certificate_allocate_credentials(&own_credentials_.handle));
  TRY(start_tls(GNUTLS_CLIENT, own_credentials_.handle));
  gnutls_session_set_verify_function(tls_.handle, on_certificate);
  gnutls_handshake_set_hook_function(tls_.handle, GNUTLS_HANDSHAKE_NEW_SESSION_TICKET,
                                     GNUTLS_HOOK_POST, on_ticket);
  return ticket == nullptr ? Result<>{} : resume(*ticket);
}

Result<> Ngtcp2Connection::resume(const Ticket& ticket) {
  TRY_TLS("resume",
          gnutls_session_set_data(tls_.handle, ticket.session.data(), ticket.session.size()));
#if NGTCP2_VERSION_NUM >= 0x010000
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
  return open_request();
}

void Ngtcp2Connection::keep_ticket() {
  gnutls_datum_t session{};
  if (gnutls_session_get_data2(tls_.handle, &session) < 0) {
    return;
  }
  Ticket ticket{.session = {reinterpret_cast<const char*>(session.data), session.size}};
  gnutls_free(session.data);
#if NGTCP2_VERSION_NUM >= 0x010000
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
  of(static_cast<ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session))->user_data)
      .keep_ticket();
  return 0;
}

int Ngtcp2Connection::on_certificate(gnutls_session_t session) {
  Ngtcp2Connection& own =
      of(static_cast<ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session))->user_data);
  unsigned count = 0;
  const gnutls_datum_t* certificates = gnutls_certificate_get_peers(session, &count);
  Fingerprint shown{};
  std::size_t bytes = shown.size();
  const bool is_pinned =
      certificates != nullptr && count > 0 &&
      gnutls_fingerprint(GNUTLS_DIG_SHA256, certificates, shown.data(), &bytes) == 0 &&
      shown == *own.pin_;
  own.wrong_certificate_ = !is_pinned;
  return is_pinned ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

int Ngtcp2Connection::handshake_completed() {
  ready_ = true;
  if (is_server_) {
    return gnutls_session_ticket_send(tls_.handle, 1, 0) == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
  }
  early_accepted_ = early_ && (gnutls_session_get_flags(tls_.handle) & GNUTLS_SFLAGS_EARLY_DATA);
  if (early_ && !early_accepted_) {
#if NGTCP2_VERSION_NUM >= 0x010000
    const int code = ngtcp2_conn_tls_early_data_rejected(connection_);
#else
    const int code = ngtcp2_conn_early_data_rejected(connection_);
#endif
    streams_.clear();
    requested_ = false;
    if (code != 0) {
      return NGTCP2_ERR_CALLBACK_FAILURE;
    }
  }
  return requested_ || open_request() ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}

Result<> Ngtcp2Connection::open_request() {
  Stream request{.left = kRequestBytes};
  if (const int code = ngtcp2_conn_open_bidi_stream(connection_, &request.id, nullptr); code != 0) {
    return fail(failure(code));
  }
  requested_ = true;
  streams_.push_back(request);
  return {};
}

Result<> Ngtcp2Connection::open_streams(int count) {
  for (int i = 0; i < count; ++i) {
    Stream stream{.left = kEndless};
    if (const int code = ngtcp2_conn_open_uni_stream(connection_, &stream.id, nullptr); code != 0) {
      return fail(failure(code));
    }
    streams_.push_back(stream);
  }
  return {};
}

// Bits of a stream's number: RFC 9000, 2.1.
bool is_unidirectional(std::int64_t id) { return (id & 2) != 0; }

int Ngtcp2Connection::data_arrived(std::uint32_t flags, std::int64_t id, std::size_t bytes) {
  const bool ended = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
  ngtcp2_conn_extend_max_offset(connection_, bytes);
  if (!ended && ngtcp2_conn_extend_max_stream_offset(connection_, id, bytes) != 0) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  if (!is_unidirectional(id)) {
    answered_ = answered_ || !is_server_;
    if (ended && is_server_) {
      streams_.push_back({.id = id, .left = kRequestBytes});
    }
    return 0;
  }
  counts_.received_bytes += bytes;
  counts_.received_whole += ended ? 1 : 0;
  const auto index = static_cast<std::size_t>(id >> 2);
  if (index < received_by_stream_.size()) {
    received_by_stream_[index] += bytes;
  }
  return 0;
}

void Ngtcp2Connection::stream_closed(std::int64_t id) {
  const auto own =
      std::ranges::find_if(streams_, [&](const Stream& stream) { return stream.id == id; });
  if (own == streams_.end()) {
    return;
  }
  if (is_unidirectional(id)) {
    lost_of_closed_ += ngtcp2_conn_get_stream_loss_count(connection_, id);
    ++counts_.sent_whole;
  }
  streams_.erase(own);
}

void Ngtcp2Connection::unblocked(std::int64_t id) {
  for (Stream& stream : streams_) {
    stream.blocked = stream.blocked && stream.id != id;
  }
}

const StreamCounts& Ngtcp2Connection::counts() const {
  counts_.lost_packets = lost_of_closed_;
  for (const Stream& stream : streams_) {
    counts_.lost_packets += is_unidirectional(stream.id)
                                ? ngtcp2_conn_get_stream_loss_count(connection_, stream.id)
                                : 0;
  }
  return counts_;
}

Statistics Ngtcp2Connection::statistics() const {
#if NGTCP2_VERSION_NUM >= 0x010000
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

bool Ngtcp2Connection::can_send(const Stream& stream) const {
  if (!wants_to_send(stream)) {
    return false;
  }
  const bool is_endless = stream.left == kEndless;
  if (is_endless && finishing_) {
    return true;  // its end carries no data, so no window matters
  }
  const bool is_allowed = !is_endless || counts_.sent_bytes < allowed_bytes_;
  return is_allowed && !stream.blocked && ngtcp2_conn_get_max_data_left(connection_) > 0;
}

Stream* Ngtcp2Connection::next_stream() {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    cursor_ = (cursor_ + 1) % streams_.size();
    if (can_send(streams_[cursor_])) {
      return &streams_[cursor_];
    }
  }
  return nullptr;
}

void Ngtcp2Connection::note_sent(Stream& stream, std::uint64_t bytes, bool with_end) {
  if (stream.left == kEndless) {
    counts_.sent_bytes += bytes;
    stream.ended = with_end;
    return;
  }
  stream.left -= bytes;
  stream.ended = stream.left == 0;
}

Wait Ngtcp2Connection::why_not(const Stream* tried) const {
  if (tried != nullptr) {
    return ngtcp2_conn_get_cwnd_left(connection_) < kMaxPayload ? Wait::Congestion : Wait::Pacing;
  }
  const auto wants = [this](const Stream& stream) { return wants_to_send(stream); };
  if (std::ranges::none_of(streams_, wants)) {
    return Wait::Idle;
  }
  return counts_.sent_bytes >= allowed_bytes_ ? Wait::Asked : Wait::FlowControl;
}

Result<Written> Ngtcp2Connection::write(std::span<std::byte> into, std::int64_t now_ns) {
  auto* const to = reinterpret_cast<std::uint8_t*>(into.data());
  const std::size_t room =
      std::min(into.size(), ngtcp2_conn_get_max_tx_udp_payload_size(connection_));
  while (true) {
    Stream* const stream = next_stream();
    const bool with_end = stream != nullptr && is_last(*stream);
    const std::uint64_t left = stream == nullptr || (finishing_ && stream->left == kEndless)
                                   ? 0
                                   : std::min<std::uint64_t>(stream->left, kPayloadBytes);
    ngtcp2_vec data{.base = const_cast<std::uint8_t*>(payload().data()), .len = left};
    ngtcp2_ssize taken = -1;
    ngtcp2_pkt_info info{};
    ngtcp2_path path = path_.get();
    const ngtcp2_ssize count = ngtcp2_conn_writev_stream(
        connection_, &path, &info, to, room, &taken,
        with_end ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE,
        stream == nullptr ? -1 : stream->id, &data, left > 0 ? 1 : 0, stamp(now_ns));
    if (count == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
      stream->blocked = true;
      continue;
    }
    if (count < 0) {
      return fail(failure(static_cast<int>(count)));
    }
    if (stream != nullptr && taken >= 0) {
      note_sent(*stream, static_cast<std::uint64_t>(taken), with_end);
    }
    return Written{.bytes = static_cast<std::size_t>(count),
                   .ecn = info.ecn,
                   .wait = count == 0 ? why_not(stream) : Wait::Idle};
  }
}

Result<> Ngtcp2Connection::read(Packet packet, unsigned ecn, std::int64_t now_ns) {
  const std::span<const std::uint8_t> bytes = raw(packet);
  const ngtcp2_path path = path_.get();
  ngtcp2_pkt_info info{};
  info.ecn = static_cast<std::uint8_t>(ecn);
  const int code =
      ngtcp2_conn_read_pkt(connection_, &path, &info, bytes.data(), bytes.size(), stamp(now_ns));
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
  CloseError reason;
  clear(reason);
  ngtcp2_pkt_info info{};
  ngtcp2_path path = path_.get();
  const ngtcp2_ssize count = ngtcp2_conn_write_connection_close(
      connection_, &path, &info, reinterpret_cast<std::uint8_t*>(into.data()),
      std::min(into.size(), kMaxPayload), &reason, stamp(now_ns));
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

Error Ngtcp2Connection::failure(int code) const {
  if (wrong_certificate_) {
    return quic_error(peer_, "its certificate is not the one that it announced",
                      ErrorKind::Refused);
  }
  switch (code) {
    case NGTCP2_ERR_IDLE_CLOSE:
      return quic_error(peer_, "no QUIC packet came from it for 10 s", ErrorKind::Timeout);
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
      return quic_error(peer_, "it did not complete the QUIC handshake in 5 s", ErrorKind::Timeout);
    case NGTCP2_ERR_CRYPTO:
      return quic_error(peer_, std::string("TLS failed: ") +
                                   gnutls_alert_get_strname(static_cast<gnutls_alert_description_t>(
                                       ngtcp2_conn_get_tls_alert(connection_))));
    default:
      return quic_error(peer_, ngtcp2_strerror(code));
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
#if NGTCP2_VERSION_NUM >= 0x010000
  std::vector<ngtcp2_cid> own(ngtcp2_conn_get_scid(connection_, nullptr));
#else
  std::vector<ngtcp2_cid> own(ngtcp2_conn_get_num_scid(connection_));
#endif
  ngtcp2_conn_get_scid(connection_, own.data());
  return std::ranges::none_of(
      own, [&](const ngtcp2_cid& id) { return ngtcp2_cid_eq(&id, &head.dcid) != 0; });
}

}  // namespace

struct Identity::Private {
  Credentials credentials;
  gnutls_datum_t ticket_key{};
  gnutls_anti_replay_t anti_replay = nullptr;
  Fingerprint fingerprint = {};

  Private() = default;
  Private(const Private&) = delete;
  Private& operator=(const Private&) = delete;
  ~Private() {
    gnutls_anti_replay_deinit(anti_replay);
    gnutls_free(ticket_key.data);
  }
};

namespace {

struct Certificate {
  gnutls_x509_privkey_t key = nullptr;
  gnutls_x509_crt_t certificate = nullptr;
  Certificate() = default;
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;
  ~Certificate() {
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
  }
};

// Nobody looks at its dates: a peer compares the fingerprint.
Result<> sign_itself(Certificate& own) {
  constexpr std::time_t kDay = 86'400;
  const std::time_t now = std::time(nullptr);
  constexpr std::array<unsigned char, 1> kSerial{1};
  const char* problem = nullptr;
  TRY_TLS("make", gnutls_x509_privkey_init(&own.key));
  TRY_TLS("make",
          gnutls_x509_privkey_generate(own.key, GNUTLS_PK_ECDSA,
                                       GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
  TRY_TLS("make", gnutls_x509_crt_init(&own.certificate));
  TRY_TLS("make", gnutls_x509_crt_set_version(own.certificate, 3));
  TRY_TLS("make", gnutls_x509_crt_set_serial(own.certificate, kSerial.data(), kSerial.size()));
  TRY_TLS("make", gnutls_x509_crt_set_dn(own.certificate, "CN=chokepoint", &problem));
  TRY_TLS("make", gnutls_x509_crt_set_activation_time(own.certificate, now - kDay));
  TRY_TLS("make", gnutls_x509_crt_set_expiration_time(own.certificate, now + 30 * kDay));
  TRY_TLS("make", gnutls_x509_crt_set_key(own.certificate, own.key));
  TRY_TLS("make",
          gnutls_x509_crt_sign2(own.certificate, own.certificate, own.key, GNUTLS_DIG_SHA256, 0));
  return {};
}

// Early data that came twice would be answered twice: it asks for nothing that could do harm.
int take_all(void* /*context*/, std::time_t /*expires*/, const gnutls_datum_t* /*key*/,
             const gnutls_datum_t* /*data*/) {
  return 0;
}

}  // namespace

Identity::Identity(std::unique_ptr<Private> inner) : private_(std::move(inner)) {}
Identity::~Identity() = default;
const Fingerprint& Identity::fingerprint() const { return private_->fingerprint; }

Result<std::unique_ptr<Identity>> Identity::make() {
  auto inner = std::make_unique<Private>();
  Certificate own;
  TRY(sign_itself(own));
  std::size_t bytes = inner->fingerprint.size();
  TRY_TLS("make", gnutls_x509_crt_get_fingerprint(own.certificate, GNUTLS_DIG_SHA256,
                                                  inner->fingerprint.data(), &bytes));
  TRY_TLS("make", gnutls_certificate_allocate_credentials(&inner->credentials.handle));
  TRY_TLS("make",
          gnutls_certificate_set_x509_key(inner->credentials.handle, &own.certificate, 1, own.key));
  TRY_TLS("make", gnutls_session_ticket_key_generate(&inner->ticket_key));
  TRY_TLS("make", gnutls_anti_replay_init(&inner->anti_replay));
  gnutls_anti_replay_set_add_function(inner->anti_replay, take_all);
  gnutls_anti_replay_set_ptr(inner->anti_replay, nullptr);
  return std::unique_ptr<Identity>(new Identity(std::move(inner)));
}

Result<> Ngtcp2Connection::open_as_server(const Identity& identity, const Tuning& tuning,
                                          Packet first, std::int64_t now_ns) {
  const std::span<const std::uint8_t> bytes = raw(first);
  ngtcp2_pkt_hd head{};
  if (ngtcp2_accept(&head, bytes.data(), bytes.size()) != 0) {
    return fail(quic_error(peer_, "this packet opens no connection", ErrorKind::Malformed));
  }
  const ngtcp2_cid own = random_id(kOwnIdBytes);
  const ngtcp2_path path = path_.get();
  const ngtcp2_callbacks calls = callbacks();
  const ngtcp2_settings settings = settings_of(tuning, now_ns);
  ngtcp2_transport_params parameters = parameters_of(tuning);
  parameters.original_dcid = head.dcid;
#if NGTCP2_VERSION_NUM >= 0x010000
  parameters.original_dcid_present = 1;
#endif
  if (const int code = ngtcp2_conn_server_new(&connection_, &head.scid, &own, &path, head.version,
                                              &calls, &settings, &parameters, nullptr, this);
      code != 0) {
    return fail(failure(code));
  }
  const Identity::Private& inner = identity.inner();
  TRY(start_tls(GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET, inner.credentials.handle));
  TRY_TLS("prepare", gnutls_session_ticket_enable_server(tls_.handle, &inner.ticket_key));
  gnutls_anti_replay_enable(tls_.handle, inner.anti_replay);
  // RFC 9001, 4.6.1: the only value that means early data.
  TRY_TLS("prepare", gnutls_record_set_max_early_data_size(tls_.handle, 0xffffffffU));
  return {};
}

bool can_quic() { return true; }

std::string library_version() { return std::string("ngtcp2 ") + NGTCP2_VERSION; }

Result<std::unique_ptr<Connection>> Connection::accept(const Identity& identity, const Ends& ends,
                                                       const Tuning& tuning, Packet first,
                                                       std::int64_t now_ns) {
  auto connection = std::make_unique<Ngtcp2Connection>(ends, tuning, true);
  TRY(connection->open_as_server(identity, tuning, first, now_ns));
  return connection;
}

Result<std::unique_ptr<Connection>> Connection::connect(const Fingerprint& pin, const Ends& ends,
                                                        const Tuning& tuning, const Ticket* ticket,
                                                        std::int64_t now_ns) {
  auto connection = std::make_unique<Ngtcp2Connection>(ends, tuning, false);
  TRY(connection->open_as_client(pin, tuning, ticket, now_ns));
  return connection;
}

}  // namespace chokepoint::probe::quic
