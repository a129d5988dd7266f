#include <gnutls/x509.h>

#include <ctime>

#include "probe/quic/module/ngtcp2.h"

namespace chokepoint::probe::quic::module {

ngtcp2_cid random_id(std::size_t bytes) {
  ngtcp2_cid id{};
  id.datalen = bytes;
  gnutls_rnd(GNUTLS_RND_RANDOM, id.data, bytes);
  return id;
}

Error tls_error(std::string_view operation, int code) {
  return {.kind = ErrorKind::Io,
          .operation = std::string(operation),
          .subject = "TLS",
          .reason = gnutls_strerror(code)};
}

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

// Nobody looks at its dates: a peer compares the fingerprint. Without an extension rustls takes no
// certificate.
Result<> describe_itself(Certificate& own) {
  constexpr std::time_t kDay = 86'400;
  const std::time_t now = std::time(nullptr);
  constexpr std::array<unsigned char, 1> kSerial{1};
  constexpr std::string_view kName = "chokepoint";
  const char* problem = nullptr;
  TRY_TLS("make", gnutls_x509_crt_init(&own.certificate));
  TRY_TLS("make", gnutls_x509_crt_set_version(own.certificate, 3));
  TRY_TLS("make", gnutls_x509_crt_set_serial(own.certificate, kSerial.data(), kSerial.size()));
  TRY_TLS("make", gnutls_x509_crt_set_dn(own.certificate, "CN=chokepoint", &problem));
  TRY_TLS("make",
          gnutls_x509_crt_set_subject_alt_name(own.certificate, GNUTLS_SAN_DNSNAME, kName.data(),
                                               kName.size(), GNUTLS_FSAN_SET));
  TRY_TLS("make", gnutls_x509_crt_set_activation_time(own.certificate, now - kDay));
  TRY_TLS("make", gnutls_x509_crt_set_expiration_time(own.certificate, now + 30 * kDay));
  return {};
}

Result<> sign_itself(Certificate& own) {
  TRY_TLS("make", gnutls_x509_privkey_init(&own.key));
  TRY_TLS("make",
          gnutls_x509_privkey_generate(own.key, GNUTLS_PK_ECDSA,
                                       GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
  TRY(describe_itself(own));
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

class TlsIdentity final : public Identity {
 public:
  TlsIdentity() = default;
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;
  ~TlsIdentity() override {
    if (anti_replay_ != nullptr) {
      gnutls_anti_replay_deinit(anti_replay_);
    }
    gnutls_free(ticket_key_.data);
  }

  const Fingerprint& fingerprint() const override { return fingerprint_; }

  Result<> create() {
    Certificate own;
    TRY(sign_itself(own));
    std::size_t bytes = fingerprint_.size();
    TRY_TLS("make", gnutls_x509_crt_get_fingerprint(own.certificate, GNUTLS_DIG_SHA256,
                                                    fingerprint_.data(), &bytes));
    TRY_TLS("make", gnutls_certificate_allocate_credentials(&credentials_.handle));
    TRY_TLS("make",
            gnutls_certificate_set_x509_key(credentials_.handle, &own.certificate, 1, own.key));
    TRY_TLS("make", gnutls_session_ticket_key_generate(&ticket_key_));
    TRY_TLS("make", gnutls_anti_replay_init(&anti_replay_));
    gnutls_anti_replay_set_add_function(anti_replay_, take_all);
    gnutls_anti_replay_set_ptr(anti_replay_, nullptr);
    return {};
  }

  Result<> use_in(gnutls_session_t session) const {
    TRY_TLS("prepare",
            gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_.handle));
    TRY_TLS("prepare", gnutls_session_ticket_enable_server(session, &ticket_key_));
    gnutls_anti_replay_enable(session, anti_replay_);
    // RFC 9001, 4.6.1: the only value that means early data.
    TRY_TLS("prepare", gnutls_record_set_max_early_data_size(session, 0xffffffffU));
    return {};
  }

 private:
  Credentials credentials_;
  gnutls_datum_t ticket_key_{};
  gnutls_anti_replay_t anti_replay_ = nullptr;
  Fingerprint fingerprint_ = {};
};

}  // namespace

Result<> use_identity(gnutls_session_t session, const Identity& identity) {
  return static_cast<const TlsIdentity&>(identity).use_in(session);
}

Result<std::unique_ptr<Identity>> make_identity() {
  auto identity = std::make_unique<TlsIdentity>();
  TRY(identity->create());
  return identity;
}

}  // namespace chokepoint::probe::quic::module
