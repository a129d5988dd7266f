#include "base/control/handshake.h"

#include <fmt/format.h>

#include "base/control/bodies.h"
#include "base/control/message.h"
#include "base/json/codec.h"

namespace chokepoint::control {
namespace {

constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kHexId = 32;
constexpr std::string_view kAttachLabel = "chokepoint attach 2";
constexpr std::int64_t kMaxVersion = 1'000'000;
constexpr std::string_view kSameVersion = "run the same version of chokepoint at both ends";

// What every version of Hello has, so that each client gets this server's version in the answer.
struct Versions {
  std::int64_t oldest = kVersion;
  std::int64_t newest = kVersion;
};

struct Hello {
  Versions versions = {};
  Secret nonce = {};
  Identity client = {};
};

struct Welcome {
  std::int64_t version = kVersion;
  Secret nonce = {};
  bool wants_key = false;
  Identity server = {};
};

struct Admitted {
  std::string session = {};
  std::string seen_as = {};
  Limits limits = {};
};

constexpr auto kOldest = field("oldest", &Versions::oldest,
                               "the oldest version of the protocol that the client supports")
                             .between(1, kMaxVersion);
constexpr auto kNewest = field("newest", &Versions::newest,
                               "the newest version of the protocol that the client supports")
                             .between(1, kMaxVersion);
constexpr auto kProgram =
    field("program", &Identity::program, "its name and version").up_to_bytes(kMaxNameBytes);
constexpr auto kHost = field("host", &Identity::host, "its host's name").up_to_bytes(kMaxNameBytes);
constexpr const char* kNonceText =
    "an X25519 public key of this connection alone, so that no exchange can be replayed; "
    "hexadecimal";

}  // namespace
}  // namespace chokepoint::control

namespace chokepoint {

template <>
struct Fields<control::Versions> {
  using V = control::Versions;
  static constexpr FieldList kList{control::kOldest, control::kNewest};
  static const char* wrong(const V& versions) {
    return versions.newest < versions.oldest ? "'newest' of at least 'oldest'" : nullptr;
  }
};

template <>
struct Fields<control::Hello> {
  using H = control::Hello;
  static constexpr FieldList kList{
      within(&H::versions, control::kOldest), within(&H::versions, control::kNewest),
      field("nonce", &H::nonce, control::kNonceText), within(&H::client, control::kProgram),
      within(&H::client, control::kHost)};
};

template <>
struct Fields<control::Welcome> {
  using W = control::Welcome;
  static constexpr FieldList kList{
      field("version", &W::version, "the version of the protocol that the server uses")
          .between(1, control::kMaxVersion),
      field("nonce", &W::nonce, control::kNonceText),
      field("key", &W::wants_key, "whether the client has to have the server's key"),
      within(&W::server, control::kProgram), within(&W::server, control::kHost)};
};

template <>
struct Fields<control::Admitted> {
  using A = control::Admitted;
  static constexpr FieldList kList{
      field("session", &A::session, "the session's id").up_to_bytes(control::kHexId),
      field("seen_as", &A::seen_as, "the client's address as it appears to the server")
          .up_to_bytes(control::kMaxNameBytes),
      field("limits", &A::limits, "what the server grants")};
};

template <>
struct Fields<control::Attachment> {
  using A = control::Attachment;
  static constexpr FieldList kList{
      field("session", &A::session, "the session's id").up_to_bytes(control::kHexId),
      field("index", &A::index, "which of the test's data connections it is").between(0, 1'000'000),
      field("mac", &A::mac, "proves that the connection is the session's")};
};

}  // namespace chokepoint

namespace chokepoint::control {
namespace {

std::string bytes_of(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::unexpected<Error> unexpected_message(const Message& message, Type wanted) {
  return fail(
      ErrorKind::Malformed, "handshake", "",
      fmt::format("a {} came where a {} was expected", name_of(message.type), name_of(wanted)));
}

std::unexpected<Error> wrong_version(std::int64_t oldest, std::int64_t newest) {
  return fail(oldest > kVersion ? ErrorKind::Newer : ErrorKind::Unsupported, "handshake", "",
              fmt::format("the client speaks versions {} to {} of the protocol, this server {}",
                          oldest, newest, kVersion),
              kSameVersion);
}

}  // namespace

ClientHandshake::ClientHandshake(Identity own, std::optional<Secret> key)
    : own_(std::move(own)), key_(key) {}

Message ClientHandshake::hello() {
  const Message message{Type::Hello,
                        json::to_json(Hello{.nonce = exchange_.public_key(), .client = own_})};
  hello_ = bytes_of(message.body);
  return message;
}

Result<Message> ClientHandshake::proof(const Message& welcome) {
  if (welcome.type != Type::Welcome) {
    return unexpected_message(welcome, Type::Welcome);
  }
  TRY(const Welcome received, json::from_json<Welcome>(welcome.body, "welcome"));
  server_ = received.server;
  if (received.version != kVersion) {
    return fail(received.version > kVersion ? ErrorKind::Newer : ErrorKind::Unsupported,
                "handshake", server_.host,
                fmt::format("the server speaks version {} of the protocol, this client {}",
                            received.version, kVersion),
                kSameVersion);
  }
  if (received.wants_key != key_.has_value()) {
    return received.wants_key ? fail(ErrorKind::Permission, "handshake", server_.host,
                                     "the server requires a key", "give its file with --key-file")
                              : fail(ErrorKind::Usage, "handshake", server_.host,
                                     "the server has no key, so it cannot prove who it is",
                                     "start it with --key-file, or leave --key-file out here");
  }
  TRY(keys_, exchange_.keys(received.nonce, key_, hello_, bytes_of(welcome.body)));
  return Message{Type::Proof};
}

Result<Admittance> ClientHandshake::admitted(const Message& answer) const {
  if (answer.type != Type::Admitted) {
    return unexpected_message(answer, Type::Admitted);
  }
  TRY(Admitted received, json::from_json<Admitted>(answer.body, "admitted"));
  return Admittance{.server = server_,
                    .session = std::move(received.session),
                    .secret = keys_.attach,
                    .seen_as = std::move(received.seen_as),
                    .limits = received.limits};
}

ServerHandshake::ServerHandshake(Identity own, KeyRing ring)
    : own_(std::move(own)), ring_(std::move(ring)) {}

Result<Message> ServerHandshake::welcome(const Message& hello) {
  if (hello.type != Type::Hello) {
    return unexpected_message(hello, Type::Hello);
  }
  TRY(const Versions versions, json::from_json<Versions>(hello.body, "hello"));
  if (versions.oldest > kVersion || versions.newest < kVersion) {
    return wrong_version(versions.oldest, versions.newest);
  }
  TRY(const Hello received, json::from_json<Hello>(hello.body, "hello"));
  client_ = received.client;
  theirs_ = received.nonce;
  hello_ = bytes_of(hello.body);
  Message message{Type::Welcome,
                  json::to_json(Welcome{
                      .nonce = exchange_.public_key(), .wants_key = wants_key(), .server = own_})};
  welcome_ = bytes_of(message.body);
  return message;
}

Result<> ServerHandshake::agree() {
  TRY(keys_, exchange_.keys(theirs_, ring_.key_of(client_.host), hello_, welcome_));
  return {};
}

Result<> ServerHandshake::check(const Message& proof) {
  return proof.type == Type::Proof ? Result<>() : unexpected_message(proof, Type::Proof);
}

Message ServerHandshake::admit(const std::string& session, const std::string& seen_as,
                               const Limits& limits) {
  return {Type::Admitted,
          json::to_json(Admitted{.session = session, .seen_as = seen_as, .limits = limits})};
}

namespace {

Mac attach_mac(const Secret& secret, const std::string& session, std::uint64_t test, int index) {
  return mac_of(secret, {kAttachLabel, session, std::to_string(test), std::to_string(index)});
}

}  // namespace

Message attach(const std::string& session, const Secret& secret, std::uint64_t test, int index) {
  return {Type::Attach, json::to_json(Attachment{.session = session,
                                                 .index = index,
                                                 .mac = attach_mac(secret, session, test, index)})};
}

Result<Attachment> read_attach(const Message& message) {
  return json::from_json<Attachment>(message.body, "attach");
}

bool proves(const Attachment& attachment, const Secret& secret, std::uint64_t test) {
  return same(attach_mac(secret, attachment.session, test, attachment.index), attachment.mac);
}

}  // namespace chokepoint::control
