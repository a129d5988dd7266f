#include "base/control/seal.h"

#include <sodium.h>

#include <array>

namespace chokepoint::control {
namespace {

static_assert(sizeof(Secret) == crypto_scalarmult_BYTES);
static_assert(sizeof(Secret) == crypto_scalarmult_SCALARBYTES);
static_assert(sizeof(Secret) == crypto_aead_chacha20poly1305_ietf_KEYBYTES);
static_assert(Seal::kExtraBytes == crypto_aead_chacha20poly1305_ietf_ABYTES);

using Nonce = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

std::string_view text_of(const Secret& secret) {
  return {reinterpret_cast<const char*>(secret.data()), secret.size()};
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Four zero bytes and the number, little-endian, as RFC 7539 and Noise have it.
Nonce nonce_of(std::uint64_t frame) {
  Nonce nonce{};
  for (std::size_t i = 0; i < sizeof(frame); ++i) {
    nonce.at(4 + i) = static_cast<unsigned char>(frame >> (8 * i));
  }
  return nonce;
}

}  // namespace

KeyExchange::KeyExchange() : secret_(random_secret()) {
  crypto_scalarmult_base(public_.data(), secret_.data());
}

Result<ConnectionKeys> KeyExchange::keys(const Secret& other, const std::optional<Secret>& key,
                                         std::string_view hello, std::string_view welcome) const {
  Secret agreed{};
  if (crypto_scalarmult(agreed.data(), secret_.data(), other.data()) != 0) {
    return fail(ErrorKind::Malformed, "handshake", "'nonce'", "it is no public key");
  }
  const Secret root =
      mac_of(key.value_or(Secret{}), {"chokepoint root 2", hello, welcome, text_of(agreed)});
  return ConnectionKeys{.to_server = mac_of(root, {"to server"}),
                        .to_client = mac_of(root, {"to client"}),
                        .attach = mac_of(root, {"attach"})};
}

std::string Seal::close(std::string_view header, std::string_view body) {
  std::string sealed(body.size() + kExtraBytes, '\0');
  const Nonce nonce = nonce_of(frames_++);
  crypto_aead_chacha20poly1305_ietf_encrypt(reinterpret_cast<unsigned char*>(sealed.data()),
                                            nullptr, bytes_of(body), body.size(), bytes_of(header),
                                            header.size(), nullptr, nonce.data(), key_.data());
  return sealed;
}

std::optional<std::string> Seal::open(std::string_view header, std::string_view sealed) {
  if (sealed.size() < kExtraBytes) {
    return std::nullopt;
  }
  std::string body(sealed.size() - kExtraBytes, '\0');
  const Nonce nonce = nonce_of(frames_);
  if (crypto_aead_chacha20poly1305_ietf_decrypt(
          reinterpret_cast<unsigned char*>(body.data()), nullptr, nullptr, bytes_of(sealed),
          sealed.size(), bytes_of(header), header.size(), nonce.data(), key_.data()) != 0) {
    return std::nullopt;
  }
  ++frames_;
  return body;
}

}  // namespace chokepoint::control
