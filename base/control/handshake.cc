#include "base/control/handshake.h"

#include <fmt/format.h>

#include "base/control/fields.h"
#include "base/control/wire_error.h"

namespace chokepoint::control {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kHexSecret = 64;
constexpr std::size_t kHexId = 32;
constexpr std::string_view kClientLabel = "chokepoint client 1";
constexpr std::string_view kServerLabel = "chokepoint server 1";
constexpr std::string_view kSessionLabel = "chokepoint session 1";
constexpr std::string_view kAttachLabel = "chokepoint attach 1";
constexpr std::int64_t kNewestVersion = 1'000'000;
constexpr std::string_view kSameVersion = "run the same version of chokepoint at both ends";

std::string said(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::unexpected<Error> unexpected_message(const Message& message, Type wanted) {
  return fail(
      ErrorKind::Malformed, "handshake", "",
      fmt::format("a {} came where a {} was expected", name_of(message.type), name_of(wanted)));
}

Json mac_or_null(const std::optional<Secret>& key, std::string_view label, const std::string& hello,
                 const std::string& welcome) {
  return key ? Json(to_hex(mac_of(*key, {label, hello, welcome}))) : Json();
}

bool has_proof(const Json& body, const Secret& key, std::string_view label,
               const std::string& hello, const std::string& welcome) {
  const auto at = body.find("mac");
  if (at == body.end() || !at->is_string()) {
    return false;
  }
  const std::optional<Mac> theirs = from_hex(at->get_ref<const std::string&>());
  return theirs && same(mac_of(key, {label, hello, welcome}), *theirs);
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
                        {{"oldest", kVersion},
                         {"newest", kVersion},
                         {"nonce", to_hex(random_secret())},
                         {"program", own_.program},
                         {"host", own_.host}}};
  hello_ = said(message.body);
  return message;
}

Result<Message> ClientHandshake::proof(const Message& welcome) {
  if (welcome.type != Type::Welcome) {
    return unexpected_message(welcome, Type::Welcome);
  }
  Fields in(welcome.body, "welcome");
  const std::int64_t version = in.integer("version", 1, kNewestVersion);
  in.text("nonce", kHexSecret);
  const bool wants_key = in.boolean("key");
  server_ = {.program = in.text("program", kLongestName), .host = in.text("host", kLongestName)};
  if (const Result<bool> read = in.finish(true); !read) {
    return std::unexpected(read.error());
  }
  if (version != kVersion) {
    return fail(version > kVersion ? ErrorKind::Newer : ErrorKind::Unsupported, "handshake",
                server_.host,
                fmt::format("the server speaks version {} of the protocol, this client {}", version,
                            kVersion),
                kSameVersion);
  }
  if (wants_key != key_.has_value()) {
    return wants_key ? fail(ErrorKind::Permission, "handshake", server_.host,
                            "the server wants a key", "give its file with --key-file")
                     : fail(ErrorKind::Usage, "handshake", server_.host,
                            "the server has no key, so it cannot prove who it is",
                            "start it with --key-file, or leave --key-file out here");
  }
  welcome_ = said(welcome.body);
  return Message{Type::Proof, {{"mac", mac_or_null(key_, kClientLabel, hello_, welcome_)}}};
}

Result<Admittance> ClientHandshake::admitted(const Message& answer) const {
  if (answer.type != Type::Admitted) {
    return unexpected_message(answer, Type::Admitted);
  }
  if (key_ && !has_proof(answer.body, *key_, kServerLabel, hello_, welcome_)) {
    return fail(ErrorKind::Permission, "handshake", server_.host,
                "the server does not have the key it asked for",
                "make sure that this is the right host");
  }
  Fields in(answer.body, "admitted");
  Admittance admittance{.server = server_,
                        .session = in.text("session", kHexId),
                        .seen_as = in.text("seen_as", kLongestName)};
  if (key_) {
    admittance.secret = mac_of(*key_, {kSessionLabel, hello_, welcome_});
  } else {
    admittance.secret = from_hex(in.text("secret", kHexSecret)).value_or(Secret{});
  }
  const Result<Limits> limits = limits_in(in.object("limits"));
  if (!limits) {
    return std::unexpected(limits.error());
  }
  admittance.limits = *limits;
  return in.finish(std::move(admittance));
}

ServerHandshake::ServerHandshake(Identity own, std::optional<Secret> key)
    : own_(std::move(own)), key_(key) {}

Result<Message> ServerHandshake::welcome(const Message& hello) {
  if (hello.type != Type::Hello) {
    return unexpected_message(hello, Type::Hello);
  }
  Fields in(hello.body, "hello");
  const std::int64_t oldest = in.integer("oldest", 1, kNewestVersion);
  const std::int64_t newest = in.integer("newest", oldest, kNewestVersion);
  in.text("nonce", kHexSecret);
  client_ = {.program = in.text("program", kLongestName), .host = in.text("host", kLongestName)};
  if (const Result<bool> read = in.finish(true); !read) {
    return std::unexpected(read.error());
  }
  if (oldest > kVersion || newest < kVersion) {
    return wrong_version(oldest, newest);
  }
  hello_ = said(hello.body);
  Message message{Type::Welcome,
                  {{"version", kVersion},
                   {"nonce", to_hex(random_secret())},
                   {"key", key_.has_value()},
                   {"program", own_.program},
                   {"host", own_.host}}};
  welcome_ = said(message.body);
  return message;
}

Result<> ServerHandshake::check(const Message& proof) const {
  if (proof.type != Type::Proof) {
    return unexpected_message(proof, Type::Proof);
  }
  if (key_ && !has_proof(proof.body, *key_, kClientLabel, hello_, welcome_)) {
    return fail(ErrorKind::Permission, "handshake", "", "the keys are not the same",
                "give both ends the same file with --key-file");
  }
  return {};
}

Message ServerHandshake::admit(const std::string& session, const std::string& seen_as,
                               const Limits& limits) {
  secret_ = key_ ? mac_of(*key_, {kSessionLabel, hello_, welcome_}) : random_secret();
  return {Type::Admitted,
          {{"mac", mac_or_null(key_, kServerLabel, hello_, welcome_)},
           {"session", session},
           {"secret", key_ ? Json() : Json(to_hex(secret_))},
           {"seen_as", seen_as},
           {"limits", body_of(limits)}}};
}

Message attach(const std::string& session, const Secret& secret, int index) {
  const Mac mac = mac_of(secret, {kAttachLabel, session, std::to_string(index)});
  return {Type::Attach, {{"session", session}, {"index", index}, {"mac", to_hex(mac)}}};
}

Result<Attachment> read_attach(const Message& message) {
  Fields in(message.body, "attach");
  const std::string session = in.text("session", kHexId);
  const auto index = static_cast<int>(in.integer("index", 0, 1'000'000));
  const std::optional<Mac> mac = from_hex(in.text("mac", kHexSecret));
  if (!mac) {
    return fail(ErrorKind::Malformed, "attach", "", "no proof");
  }
  return in.finish(Attachment{.session = session, .index = index, .mac = *mac});
}

bool proves(const Attachment& attachment, const Secret& secret) {
  return same(mac_of(secret, {kAttachLabel, attachment.session, std::to_string(attachment.index)}),
              attachment.mac);
}

}  // namespace chokepoint::control
