// The control connection's messages: a frame of eight bytes and a JSON object.
//
//     0        1        2        3        4        5        6        7
//   ┌────────┬────────┬────────┬────────┬────────┬────────┬────────┬────────┐
//   │  'C'   │  'K'   │framing │  type  │ length of the body, big-endian     │
//   │        │        │ 1 or 2 │        │                                    │
//   ├────────┴────────┴────────┴────────┴────────────────────────────────────┤
//   │ body: one JSON object in UTF-8; with framing 2 sealed (Seal)           │
//   └─────────────────────────────────────────────────────────────────────────┘
//
//   client                                             server
//     Hello {oldest, newest, nonce, program, host} ─────►
//     ◄───────────── Welcome {version, nonce, key, program, host}   or Refused
//                                                        from here on all is sealed
//     Proof {} ─────────────────────────────────────────►
//     ◄──────────────────────────── Admitted {session, seen_as, limits}   or Refused, not sealed
//
//     Request {kind, parameters, share} ────────────────►            any number of these, in turn
//     ◄──────────────────────── Queued {ahead, reason}…   or Refused
//     ◄────────────────────────────────── Ready {…}
//     Attach {session, index, mac} ═════► on a connection of its own, one a data stream,
//                                         which carries nothing but data from then on
//     Begin {} ◄── or ──► in the order of the kind of test, with Report, Stop and Note
//     ◄──────────────────────────────── Result {…}   or Failed {error}
//
//     Bye {} ───────────────────────────────────────────►
//
// docs/internals/protocol.md has all of it. Values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/control/key.h"
#include "base/json/fields.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// What protects a control connection from its third message on. Each end makes an X25519 key pair
// for this connection alone; from what only these two ends can compute, from the key that they may
// share, and from all messages before, they derive one key a direction. A host between them
// without the key can forward the messages, and neither read nor change nor repeat them. Noise's
// NNpsk0 is the model (https://noiseprotocol.org/noise.html); the primitives are libsodium's.
//
//     agreed   = X25519(own secret key, the other's public key)
//     root     = HMAC(shared key, or zeros without one; "chokepoint root 2", Hello, Welcome,
//     agreed) to_server, to_client, attach = HMAC(root; their names)
//
// Values; one thread each.

struct ConnectionKeys {
  Secret to_server = {};
  Secret to_client = {};
  Secret attach = {};  // proves that a data connection belongs to this one
};

class KeyExchange {
 public:
  KeyExchange();

  const Secret& public_key() const { return public_; }
  // `key` is what both ends share, if anything; `hello` and `welcome` as they were sent. Malformed
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

using Json = nlohmann::ordered_json;

inline constexpr std::uint16_t kPort = 5210;
inline constexpr int kVersion = 2;  // of the messages; both sides must share one

enum class Type : std::uint8_t {
  Hello = 1,
  Welcome = 2,
  Proof = 3,
  Admitted = 4,
  Refused = 5,
  Attach = 6,
  Request = 7,
  Queued = 8,
  Ready = 9,
  Begin = 10,
  Report = 11,
  Stop = 12,
  Result = 13,
  Failed = 14,
  Bye = 15,
  Note = 16,
};

}  // namespace chokepoint::control

template <>
struct chokepoint::EnumNames<chokepoint::control::Type> {
  using enum control::Type;
  static constexpr std::string_view kWhat = "a message's type";
  static constexpr auto kNames = std::to_array<EnumName<control::Type>>({{Hello, "hello"},
                                                                         {Welcome, "welcome"},
                                                                         {Proof, "proof"},
                                                                         {Admitted, "admitted"},
                                                                         {Refused, "refused"},
                                                                         {Attach, "attach"},
                                                                         {Request, "request"},
                                                                         {Queued, "queued"},
                                                                         {Ready, "ready"},
                                                                         {Begin, "begin"},
                                                                         {Report, "report"},
                                                                         {Stop, "stop"},
                                                                         {Result, "result"},
                                                                         {Failed, "failed"},
                                                                         {Bye, "bye"},
                                                                         {Note, "note"}});
};

namespace chokepoint::control {

using chokepoint::name_of;

struct Message {
  Type type = Type::Bye;
  Json body = Json::object();
};

// The largest body: of a client before admission, of an admitted client, of a server.
inline constexpr std::size_t kMaxBeforeHandshake = 4096;
inline constexpr std::size_t kMaxFromClient = std::size_t{64} * 1024;
inline constexpr std::size_t kMaxFromServer = std::size_t{16} * 1024 * 1024;

// Messages to bytes and back. FrameReader takes bytes as they come and never asks for more than the
// frame at hand needs, so that what follows on the connection stays unread. A long body costs
// memory only as its bytes come, not when it is announced. Malformed bytes are an error, after
// which the reader is of no more use. No I/O; one thread.

inline constexpr std::size_t kHeaderBytes = 8;

std::string encode(const Message& message);
std::string encode(const Message& message, Seal& seal);

class FrameReader {
 public:
  explicit FrameReader(std::size_t most_body) : most_body_(most_body) {}

  // A frame from an admitted peer may be larger than one before admission.
  void allow(std::size_t most_body) { most_body_ = most_body; }
  // From the next frame on all must be sealed; but for a Refused in place of the first one, from a
  // server that has not the same key.
  void seal(const Seal& seal) { seal_ = seal; }
  bool is_sealed() const { return seal_.has_value(); }

  // Where the next bytes go, and how many are wanted; never empty.
  std::span<std::byte> wanted();
  // `count` bytes were put there. The message, once it is whole.
  Result<std::optional<Message>> took(std::size_t count);

 private:
  Result<> check_magic() const;
  Result<> read_header();
  void make_room();
  Result<> check_framing(unsigned framing, Type type) const;
  Result<Message> read_body();
  Result<std::string> opened(std::string body);

  std::size_t most_body_;
  std::optional<Seal> seal_ = {};
  bool is_body_sealed_ = false;
  std::array<std::byte, kHeaderBytes> header_{};
  std::size_t have_ = 0;  // of the header, then of the body
  bool in_body_ = false;
  Type type_ = Type::Bye;
  std::size_t length_ = 0;  // of the whole body
  std::string body_;        // what has come of it, and room for what is wanted next
};

}  // namespace chokepoint::control

namespace chokepoint {

template <>
struct EnumNames<ErrorKind> {
  using K = ErrorKind;
  static constexpr std::string_view kWhat = "a kind of error";
  static constexpr K kOtherwise = K::Io;  // one that a newer version knows
  static constexpr auto kNames = std::to_array<EnumName<K>>({{K::Usage, "usage"},
                                                             {K::NotFound, "not_found"},
                                                             {K::Permission, "permission"},
                                                             {K::Refused, "refused"},
                                                             {K::Timeout, "timeout"},
                                                             {K::Unreachable, "unreachable"},
                                                             {K::Exhausted, "exhausted"},
                                                             {K::ReadOnly, "read_only"},
                                                             {K::Busy, "busy"},
                                                             {K::Unsupported, "unsupported"},
                                                             {K::Malformed, "malformed"},
                                                             {K::Newer, "newer"},
                                                             {K::Interrupted, "interrupted"},
                                                             {K::Io, "io"}});
};

// The errno stays here: another system may number its errors differently.
template <>
struct Fields<Error> {
  static constexpr FieldList kList{
      field("kind", &Error::kind, "what kind of failure"),
      field("operation", &Error::operation, "what was tried").or_default(),
      field("subject", &Error::subject, "with what").or_default(),
      field("reason", &Error::reason, "why it failed").or_default(),
      field("next_step", &Error::next_step, "what to do about it").or_default()};
};

}  // namespace chokepoint

namespace chokepoint::control {

// Errors as the body of a Refused or Failed message. A peer's text is bounded and kept apart
// from this side's own text. Pure functions.

Json body_of(const Error& error);
inline Message refused(const Error& error) { return {Type::Refused, body_of(error)}; }
inline Message failed(const Error& error) { return {Type::Failed, body_of(error)}; }

// An error that was read from a peer: only this side's own user can interrupt this side.
Error of_peer(Error error);
// `peer` becomes the subject where the peer named none.
Error error_in(const Json& body, std::string_view peer);

}  // namespace chokepoint::control
