#include "base/control/handshake.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/control/bodies.h"
#include "base/control/message.h"
#include "base/json/codec.h"
#include "base/sys/descriptor.h"

namespace chokepoint::control {
namespace {

constexpr std::size_t kMinKeyBytes = 16;
constexpr std::size_t kMaxKeyBytes = 4096;

static_assert(sizeof(Secret) == crypto_auth_hmacsha256_KEYBYTES);
static_assert(sizeof(Mac) == crypto_auth_hmacsha256_BYTES);

void ready() {
  // Thread-safe, and at once done when it was done before.
  if (sodium_init() < 0) {
    std::abort();
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

sys::Descriptor open_key(const std::string& path) {
  return sys::Descriptor(path == kStandardInput ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                                : open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// What has no name in the file system is nobody else's to read.
bool is_readable_by_all(const struct stat& about, const std::string& path) {
  return (path != kStandardInput || S_ISREG(about.st_mode)) &&
         (about.st_mode & (S_IROTH | S_IWOTH)) != 0;
}

// To its end, or to what is more than any key has: a pipe gives it piece by piece.
Result<std::string> read_all(int fd, const std::string& path) {
  std::string content(kMaxKeyBytes + 1, '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const ssize_t got = read(fd, content.data() + have, content.size() - have);
    if (got < 0 && errno != EINTR) {
      return fail(from_errno(errno, "read key", path));
    }
    if (got == 0) {
      break;
    }
    have += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  content.resize(have);
  return content;
}

// A pipe gives what it has once, and a command may connect more than once. Any thread.
class Memory {
 public:
  std::optional<std::string> of(const struct stat& input) {
    const std::lock_guard lock(mutex_);
    return input.st_dev == device_ && input.st_ino == inode_ ? content_ : std::nullopt;
  }
  void keep(const struct stat& input, const std::string& content) {
    const std::lock_guard lock(mutex_);
    device_ = input.st_dev;
    inode_ = input.st_ino;
    content_ = content;
  }

 private:
  std::mutex mutex_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::optional<std::string> content_;
};

Result<std::string> read_stream(int fd, const struct stat& about, const std::string& path) {
  static Memory memory;
  if (const std::optional<std::string> known = memory.of(about)) {
    return *known;
  }
  Result<std::string> content = read_all(fd, path);
  if (content) {
    memory.keep(about, *content);
  }
  return content;
}

Result<std::string> read_private(const std::string& path) {
  const sys::Descriptor fd = open_key(path);
  struct stat about{};
  if (!fd || fstat(fd.get(), &about) < 0) {
    return fail(from_errno(errno, "read key", path));
  }
  if (is_readable_by_all(about, path)) {
    return fail(ErrorKind::Usage, "read key", path, "all users can read or change it",
                "chmod 600 " + path);
  }
  if (path == kStandardInput && lseek(fd.get(), 0, SEEK_SET) < 0) {
    return read_stream(fd.get(), about, path);
  }
  return read_all(fd.get(), path);
}

}  // namespace

Result<std::string> key_text_in(std::string_view content, std::string_view subject) {
  const std::string_view key = trimmed(content);
  if (key.size() < kMinKeyBytes || key.size() > kMaxKeyBytes) {
    return fail(ErrorKind::Usage, "read key", subject, "a key has 16 to 4096 bytes");
  }
  return std::string(key);
}

Result<std::string> read_key_text(const std::string& path) {
  TRY(const std::string content, read_private(path));
  Result<std::string> key = key_text_in(content, path);
  if (!key && path != kStandardInput) {
    key.error().next_step = "head -c 32 /dev/urandom | base64 > " + path;
  }
  return key;
}

Secret secret_of(std::string_view key) {
  ready();
  Secret secret{};
  crypto_hash_sha256(secret.data(), reinterpret_cast<const unsigned char*>(key.data()), key.size());
  return secret;
}

Result<Secret> read_key(const std::string& path) {
  const Result<std::string> key = read_key_text(path);
  return key ? Result<Secret>(secret_of(*key)) : std::unexpected(key.error());
}

Secret random_secret() {
  ready();
  Secret secret{};
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

std::string random_id() {
  const Secret bytes = random_secret();
  return to_hex(std::span(bytes).first(16));
}

Mac mac_of(const Secret& secret, std::initializer_list<std::string_view> parts) {
  ready();
  crypto_auth_hmacsha256_state state{};
  crypto_auth_hmacsha256_init(&state, secret.data(), secret.size());
  for (const std::string_view part : parts) {
    const std::uint64_t size = part.size();
    std::array<unsigned char, sizeof(size)> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length.at(i) = static_cast<unsigned char>(size >> (8 * i));
    }
    crypto_auth_hmacsha256_update(&state, length.data(), length.size());
    crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                                  part.size());
  }
  Mac mac{};
  crypto_auth_hmacsha256_final(&state, mac.data());
  return mac;
}

bool same(const Mac& mine, const Mac& theirs) {
  return sodium_memcmp(mine.data(), theirs.data(), mine.size()) == 0;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

std::optional<Mac> from_hex(std::string_view text) {
  Mac mac{};
  std::size_t length = 0;
  if (text.size() != mac.size() * 2 ||
      sodium_hex2bin(mac.data(), mac.size(), text.data(), text.size(), nullptr, &length, nullptr) !=
          0 ||
      length != mac.size()) {
    return std::nullopt;
  }
  return mac;
}

namespace {

constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kHexSecret = 64;
constexpr std::size_t kHexId = 32;
constexpr std::string_view kClientLabel = "chokepoint client 1";
constexpr std::string_view kServerLabel = "chokepoint server 1";
constexpr std::string_view kSessionLabel = "chokepoint session 1";
constexpr std::string_view kAttachLabel = "chokepoint attach 1";
constexpr std::int64_t kMaxVersion = 1'000'000;
constexpr std::string_view kSameVersion = "run the same version of chokepoint at both ends";

struct Hello {
  std::int64_t oldest = kVersion;
  std::int64_t newest = kVersion;
  std::string nonce = {};
  Identity client = {};
};

struct Welcome {
  std::int64_t version = kVersion;
  std::string nonce = {};
  bool wants_key = false;
  Identity server = {};
};

struct Proof {
  std::optional<Mac> mac = {};
};

struct Admitted {
  std::optional<Mac> mac = {};
  std::string session = {};
  std::optional<Secret> secret = {};
  std::string seen_as = {};
  Limits limits = {};
};

constexpr auto kProgram =
    field("program", &Identity::program, "its name and version").up_to_bytes(kMaxNameBytes);
constexpr auto kHost = field("host", &Identity::host, "its host's name").up_to_bytes(kMaxNameBytes);
constexpr const char* kNonceText = "random, so that no exchange can be replayed; hexadecimal";

}  // namespace
}  // namespace chokepoint::control

namespace chokepoint {

template <>
struct Fields<control::Hello> {
  using H = control::Hello;
  static constexpr std::tuple kList{
      field("oldest", &H::oldest, "the oldest version of the protocol that the client speaks")
          .between(1, control::kMaxVersion),
      field("newest", &H::newest, "the newest").between(1, control::kMaxVersion),
      field("nonce", &H::nonce, control::kNonceText).up_to_bytes(control::kHexSecret),
      within(&H::client, control::kProgram), within(&H::client, control::kHost)};
  static const char* wrong(const H& hello) {
    return hello.newest < hello.oldest ? "'newest' of at least 'oldest'" : nullptr;
  }
};

template <>
struct Fields<control::Welcome> {
  using W = control::Welcome;
  static constexpr std::tuple kList{
      field("version", &W::version, "the version of the protocol that the server speaks")
          .between(1, control::kMaxVersion),
      field("nonce", &W::nonce, control::kNonceText).up_to_bytes(control::kHexSecret),
      field("key", &W::wants_key, "whether the client has to prove that it has the server's key"),
      within(&W::server, control::kProgram), within(&W::server, control::kHost)};
};

template <>
struct Fields<control::Proof> {
  static constexpr std::tuple kList{
      field("mac", &control::Proof::mac, "proves that the client has the key; null without one")};
};

template <>
struct Fields<control::Admitted> {
  using A = control::Admitted;
  static constexpr std::tuple kList{
      field("mac", &A::mac, "proves that the server has the key; null without one"),
      field("session", &A::session, "the session's id").up_to_bytes(control::kHexId),
      field("secret", &A::secret,
            "proves that a data connection is the session's; null where both derive it from the "
            "key"),
      field("seen_as", &A::seen_as, "the client's address as the server sees it")
          .up_to_bytes(control::kMaxNameBytes),
      field("limits", &A::limits, "what the server grants")};
};

template <>
struct Fields<control::Attachment> {
  using A = control::Attachment;
  static constexpr std::tuple kList{
      field("session", &A::session, "the session's id").up_to_bytes(control::kHexId),
      field("index", &A::index, "which of the test's data connections it is").between(0, 1'000'000),
      field("mac", &A::mac, "proves that the connection is the session's")};
};

}  // namespace chokepoint

namespace chokepoint::control {
namespace {

std::string said(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::unexpected<Error> unexpected_message(const Message& message, Type wanted) {
  return fail(
      ErrorKind::Malformed, "handshake", "",
      fmt::format("a {} came where a {} was expected", name_of(message.type), name_of(wanted)));
}

std::optional<Mac> mac_by(const std::optional<Secret>& key, std::string_view label,
                          const std::string& hello, const std::string& welcome) {
  return key ? std::optional(mac_of(*key, {label, hello, welcome})) : std::nullopt;
}

// True where no key is used.
bool has_proof(const std::optional<Mac>& theirs, const std::optional<Mac>& wanted) {
  return !wanted || (theirs && same(*wanted, *theirs));
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
                        json::to_json(Hello{.nonce = to_hex(random_secret()), .client = own_})};
  hello_ = said(message.body);
  return message;
}

Result<Message> ClientHandshake::proof(const Message& welcome) {
  if (welcome.type != Type::Welcome) {
    return unexpected_message(welcome, Type::Welcome);
  }
  TRY(const Welcome heard, json::from_json<Welcome>(welcome.body, "welcome"));
  server_ = heard.server;
  if (heard.version != kVersion) {
    return fail(heard.version > kVersion ? ErrorKind::Newer : ErrorKind::Unsupported, "handshake",
                server_.host,
                fmt::format("the server speaks version {} of the protocol, this client {}",
                            heard.version, kVersion),
                kSameVersion);
  }
  if (heard.wants_key != key_.has_value()) {
    return heard.wants_key ? fail(ErrorKind::Permission, "handshake", server_.host,
                                  "the server requires a key", "give its file with --key-file")
                           : fail(ErrorKind::Usage, "handshake", server_.host,
                                  "the server has no key, so it cannot prove who it is",
                                  "start it with --key-file, or leave --key-file out here");
  }
  welcome_ = said(welcome.body);
  return Message{Type::Proof,
                 json::to_json(Proof{.mac = mac_by(key_, kClientLabel, hello_, welcome_)})};
}

Result<Admittance> ClientHandshake::admitted(const Message& answer) const {
  if (answer.type != Type::Admitted) {
    return unexpected_message(answer, Type::Admitted);
  }
  TRY(Admitted heard, json::from_json<Admitted>(answer.body, "admitted"));
  if (!has_proof(heard.mac, mac_by(key_, kServerLabel, hello_, welcome_))) {
    return fail(ErrorKind::Permission, "handshake", server_.host,
                "the server does not have the key it asked for",
                "check that this is the right host");
  }
  if (!key_ && !heard.secret) {
    return fail(ErrorKind::Malformed, "read message", "admitted 'secret'", "wanted it to be there");
  }
  return Admittance{
      .server = server_,
      .session = std::move(heard.session),
      .secret = key_ ? mac_of(*key_, {kSessionLabel, hello_, welcome_}) : *heard.secret,
      .seen_as = std::move(heard.seen_as),
      .limits = heard.limits};
}

ServerHandshake::ServerHandshake(Identity own, std::optional<Secret> key)
    : own_(std::move(own)), key_(key) {}

Result<Message> ServerHandshake::welcome(const Message& hello) {
  if (hello.type != Type::Hello) {
    return unexpected_message(hello, Type::Hello);
  }
  TRY(const Hello heard, json::from_json<Hello>(hello.body, "hello"));
  client_ = heard.client;
  if (heard.oldest > kVersion || heard.newest < kVersion) {
    return wrong_version(heard.oldest, heard.newest);
  }
  hello_ = said(hello.body);
  Message message{Type::Welcome, json::to_json(Welcome{.nonce = to_hex(random_secret()),
                                                       .wants_key = key_.has_value(),
                                                       .server = own_})};
  welcome_ = said(message.body);
  return message;
}

Result<> ServerHandshake::check(const Message& proof) const {
  if (proof.type != Type::Proof) {
    return unexpected_message(proof, Type::Proof);
  }
  TRY(const Proof heard, json::from_json<Proof>(proof.body, "proof"));
  if (!has_proof(heard.mac, mac_by(key_, kClientLabel, hello_, welcome_))) {
    return fail(ErrorKind::Permission, "handshake", "", "the keys are not the same",
                "give both ends the same file with --key-file");
  }
  return {};
}

Message ServerHandshake::admit(const std::string& session, const std::string& seen_as,
                               const Limits& limits) {
  secret_ = key_ ? mac_of(*key_, {kSessionLabel, hello_, welcome_}) : random_secret();
  return {Type::Admitted,
          json::to_json(Admitted{.mac = mac_by(key_, kServerLabel, hello_, welcome_),
                                 .session = session,
                                 .secret = key_ ? std::nullopt : std::optional(secret_),
                                 .seen_as = seen_as,
                                 .limits = limits})};
}

Message attach(const std::string& session, const Secret& secret, int index) {
  const Mac mac = mac_of(secret, {kAttachLabel, session, std::to_string(index)});
  return {Type::Attach, json::to_json(Attachment{.session = session, .index = index, .mac = mac})};
}

Result<Attachment> read_attach(const Message& message) {
  return json::from_json<Attachment>(message.body, "attach");
}

bool proves(const Attachment& attachment, const Secret& secret) {
  return same(mac_of(secret, {kAttachLabel, attachment.session, std::to_string(attachment.index)}),
              attachment.mac);
}

}  // namespace chokepoint::control
