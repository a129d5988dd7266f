#include "base/control/handshake.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/control/fields.h"
#include "base/control/message.h"
#include "base/sys/descriptor.h"

namespace chokepoint::control {
namespace {

constexpr std::size_t kShortestKey = 16;
constexpr std::size_t kLongestKey = 4096;

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
  std::string content(kLongestKey + 1, '\0');
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
  if (key.size() < kShortestKey || key.size() > kLongestKey) {
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
  TRY(in.finish(true));
  if (version != kVersion) {
    return fail(version > kVersion ? ErrorKind::Newer : ErrorKind::Unsupported, "handshake",
                server_.host,
                fmt::format("the server speaks version {} of the protocol, this client {}", version,
                            kVersion),
                kSameVersion);
  }
  if (wants_key != key_.has_value()) {
    return wants_key ? fail(ErrorKind::Permission, "handshake", server_.host,
                            "the server requires a key", "give its file with --key-file")
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
                "check that this is the right host");
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
  TRY(const Limits limits, limits_in(in.object("limits")));
  admittance.limits = limits;
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
  TRY(in.finish(true));
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
