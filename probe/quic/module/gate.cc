#include <algorithm>

#include "probe/quic/module/ngtcp2.h"

namespace chokepoint::probe::quic::module {
namespace {

constexpr ngtcp2_duration kTokenLives = 10 * NGTCP2_SECONDS;
constexpr std::uint64_t kConnectionRefused = 0x02;  // RFC 9000, 20.1
// RFC 9000, 14.1: an Initial packet of a client is at least as large.
constexpr std::size_t kMinInitial = 1200;

std::string text_of(const ngtcp2_cid& id) {
  return {reinterpret_cast<const char*>(id.data), id.datalen};
}

std::size_t size_or_none(ngtcp2_ssize count) {
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

// An Initial packet, by its head.
std::optional<ngtcp2_pkt_hd> initial_of(Packet packet) {
  const std::span<const std::uint8_t> bytes = raw(packet);
  ngtcp2_pkt_hd head{};
  const bool is_initial = bytes.size() >= kMinInitial &&
                          ngtcp2_accept(&head, bytes.data(), bytes.size()) == 0 &&
                          head.type == NGTCP2_PKT_INITIAL;
  return is_initial ? std::optional(head) : std::nullopt;
}

std::span<const std::uint8_t> token_of(const ngtcp2_pkt_hd& head) {
#ifdef CHOKEPOINT_NGTCP2_1
  return {head.token, head.tokenlen};
#else
  return {head.token.base, head.token.len};
#endif
}

// A client of another version gets the list of versions: RFC 9000, 6.1.
std::size_t negotiate(Packet packet, std::span<std::byte> into) {
  const std::span<const std::uint8_t> bytes = raw(packet);
  ngtcp2_version_cid asked{};
  const int code = ngtcp2_pkt_decode_version_cid(&asked, bytes.data(), bytes.size(), kOwnIdBytes);
  if (code != NGTCP2_ERR_VERSION_NEGOTIATION) {
    return 0;
  }
  std::uint8_t random = 0;
  gnutls_rnd(GNUTLS_RND_NONCE, &random, sizeof(random));
  constexpr std::array<std::uint32_t, 1> kVersions{NGTCP2_PROTO_VER_V1};
  return size_or_none(ngtcp2_pkt_write_version_negotiation(
      raw(into), into.size(), random, asked.scid, asked.scidlen, asked.dcid, asked.dcidlen,
      kVersions.data(), kVersions.size()));
}

class RetryGate final : public Gate {
 public:
  RetryGate() { gnutls_rnd(GNUTLS_RND_KEY, secret_.data(), secret_.size()); }

  Look look(Packet packet, const SocketAddress& from, std::span<std::byte> into,
            std::int64_t now_ns) override {
    if (packet.size() < kMinInitial) {
      return {};
    }
    const std::optional<ngtcp2_pkt_hd> head = initial_of(packet);
    if (!head) {
      return {.answer_bytes = negotiate(packet, into)};
    }
    const std::span<const std::uint8_t> token = token_of(*head);
    if (token.empty() || token.front() != NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY) {
      return {.answer_bytes = retry(*head, from, into, now_ns)};
    }
    ngtcp2_cid first{};
    if (ngtcp2_crypto_verify_retry_token(&first, token.data(), token.size(), secret_.data(),
                                         secret_.size(), head->version, raw(from), from.length,
                                         &head->dcid, kTokenLives, stamp(now_ns)) != 0) {
      return {};
    }
    return {.opening = Opening{.first_id = text_of(first), .retry_id = text_of(head->dcid)}};
  }

  std::size_t refuse(Packet packet, std::span<std::byte> into) override {
    const std::optional<ngtcp2_pkt_hd> head = initial_of(packet);
    return head ? size_or_none(ngtcp2_crypto_write_connection_close(
                      raw(into), into.size(), head->version, &head->scid, &head->dcid,
                      kConnectionRefused, nullptr, 0))
                : 0;
  }

 private:
  std::size_t retry(const ngtcp2_pkt_hd& head, const SocketAddress& from, std::span<std::byte> into,
                    std::int64_t now_ns) const {
    const ngtcp2_cid id = random_id(NGTCP2_MAX_CIDLEN);
    std::array<std::uint8_t, NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN> token{};
    const ngtcp2_ssize count = ngtcp2_crypto_generate_retry_token(
        token.data(), secret_.data(), secret_.size(), head.version, raw(from), from.length, &id,
        &head.dcid, stamp(now_ns));
    return count < 0 ? 0
                     : size_or_none(ngtcp2_crypto_write_retry(
                           raw(into), into.size(), head.version, &head.scid, &id, &head.dcid,
                           token.data(), static_cast<std::size_t>(count)));
  }

  std::array<std::uint8_t, 32> secret_{};
};

}  // namespace

Result<std::unique_ptr<Gate>> make_gate() { return std::make_unique<RetryGate>(); }

}  // namespace chokepoint::probe::quic::module
