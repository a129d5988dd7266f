// What protects a control connection from its third message on. Each end makes an X25519 key pair
// for this connection alone; from what only these two ends can compute, from the key that they may
// share, and from all that was said before, they derive one key a direction. A host between them
// that has not the key can forward what is said, and neither read nor change nor repeat it. Noise's
// NNpsk0 is the model (https://noiseprotocol.org/noise.html); the primitives are libsodium's.
//
//     agreed   = X25519(own secret key, the other's public key)
//     root     = HMAC(shared key, or zeros without one; "chokepoint root 2", Hello, Welcome,
//     agreed) to_server, to_client, attach = HMAC(root; their names)
//
// Values; one thread each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/control/key.h"
#include "base/sys/error.h"

namespace chokepoint::control {

struct ConnectionKeys {
  Secret to_server = {};
  Secret to_client = {};
  Secret attach = {};  // proves to the door that a data connection belongs to this one
};

class KeyExchange {
 public:
  KeyExchange();

  const Secret& public_key() const { return public_; }
  // `key` is what both ends share, if anything; `hello` and `welcome` what they said. Malformed
  // where no secret key leads to `other`.
  Result<ConnectionKeys> keys(const Secret& other, const std::optional<Secret>& key,
                              std::string_view hello, std::string_view welcome) const;

 private:
  Secret secret_{};
  Secret public_{};
};

// One direction of a connection: ChaCha20-Poly1305, with the number of the frame as the nonce, so
// that a frame that is left out, repeated or moved does not open.
class Seal {
 public:
  static constexpr std::size_t kExtraBytes = 16;  // that a sealed body has more

  // `frames` of this direction went before.
  explicit Seal(const Secret& key, std::uint64_t frames = 0) : key_(key), frames_(frames) {}

  // Whether no frame went before.
  bool is_fresh() const { return frames_ == 0; }

  // The header is not hidden, but cannot be changed either.
  std::string close(std::string_view header, std::string_view body);
  // Nothing where it is not the next frame that the other end closed.
  std::optional<std::string> open(std::string_view header, std::string_view sealed);

 private:
  Secret key_;
  std::uint64_t frames_;
};

}  // namespace chokepoint::control
