#include "base/control/key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/sys/descriptor.h"
#include "base/sys/file.h"

namespace chokepoint::control {
namespace {

constexpr std::size_t kMinKeyBytes = 16;
constexpr std::size_t kMaxKeyBytes = 4096;
constexpr std::string_view kReadKey = "read key";

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

Result<sys::Descriptor> open_key(const std::string& path) {
  if (path != kStandardInput) {
    return sys::open_input(path, kReadKey);
  }
  sys::Descriptor input(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  return input ? Result<sys::Descriptor>(std::move(input))
               : fail(from_errno(errno, kReadKey, path));
}

// A file without a name in the file system cannot be read by others.
bool is_readable_by_all(const struct stat& about, const std::string& path) {
  return (path != kStandardInput || S_ISREG(about.st_mode)) &&
         (about.st_mode & (S_IROTH | S_IWOTH)) != 0;
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

Result<std::string> read_stream(const sys::Descriptor& input, const struct stat& about,
                                const std::string& path) {
  static Memory memory;
  if (const std::optional<std::string> known = memory.of(about)) {
    return *known;
  }
  Result<std::string> content = sys::read_opened(input, path, kMaxKeyBytes, kReadKey);
  if (content) {
    memory.keep(about, *content);
  }
  return content;
}

Result<std::string> read_private(const std::string& path) {
  TRY(const sys::Descriptor input, open_key(path));
  struct stat about{};
  if (fstat(input.get(), &about) < 0) {
    return fail(from_errno(errno, kReadKey, path));
  }
  if (is_readable_by_all(about, path)) {
    return fail(ErrorKind::Usage, kReadKey, path, "all users can read or change it",
                "chmod 600 " + path);
  }
  return lseek(input.get(), 0, SEEK_SET) < 0
             ? read_stream(input, about, path)
             : sys::read_opened(input, path, kMaxKeyBytes, kReadKey);
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
  Result<std::string> content = read_private(path);
  if (!content && content.error().kind == ErrorKind::Malformed) {
    content.error().kind = ErrorKind::Usage;  // longer than any key: another file was meant
  }
  TRY(const std::string text, std::move(content));
  Result<std::string> key = key_text_in(text, path);
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

std::optional<Secret> KeyRing::key_of(std::string_view host) const {
  if (!of_hosts_) {
    return common_;
  }
  const auto found = of_hosts_->find(host);
  return found == of_hosts_->end() ? random_secret() : found->second;
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

namespace {

// A name, or an address: nothing that leads out of a folder.
bool is_host_name(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:%";
  return !text.empty() && !text.starts_with('.') &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// What editors, package managers and people put behind a file's name when they keep the old one, or
// have not finished the new one. No top-level domain that hosts of a cluster are in is among them.
bool is_named_as_a_copy(std::string_view name) {
  constexpr auto kEndings = std::to_array<std::string_view>(
      {".old",     ".bak",      ".backup",   ".orig",      ".save",    ".saved",   ".tmp",
       ".temp",    ".new",      ".copy",     ".swp",       ".swo",     ".rpmsave", ".rpmnew",
       ".rpmorig", ".dpkg-old", ".dpkg-new", ".dpkg-dist", ".ucf-old", ".ucf-new", ".ucf-dist"});
  return std::ranges::any_of(kEndings,
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

// "gpu7" of "gpu7.a.b" where there is such a file.
std::optional<std::string> original_of(const std::string& name, const HostKeys& keys) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    if (keys.contains(std::string_view(name).substr(0, dot))) {
      return name.substr(0, dot);
    }
  }
  return std::nullopt;
}

Result<> check_no_copies(const HostKeys& keys, const std::string& folder) {
  for (const auto& [name, key] : keys) {
    const std::optional<std::string> original = original_of(name, keys);
    if (original || is_named_as_a_copy(name)) {
      return fail(ErrorKind::Usage, "read keys", (std::filesystem::path(folder) / name).string(),
                  original ? "it may be a copy of '" + *original + "', and would be a key, too"
                           : "it is named as a copy is, and would be a key, too",
                  "remove it, or move it to another folder");
    }
  }
  return {};
}

}  // namespace

Result<HostKeys> keys_of_hosts(const std::string& folder) {
  struct stat about{};
  if (stat(folder.c_str(), &about) < 0) {
    return fail(from_errno(errno, "read keys", folder));
  }
  if ((about.st_mode & S_IWOTH) != 0) {
    return fail(ErrorKind::Usage, "read keys", folder, "all users can change it",
                "chmod 700 " + folder);
  }
  HostKeys keys;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string host = at->path().filename();
    if (host.starts_with('.')) {
      continue;
    }
    if (!is_host_name(host)) {
      return fail(ErrorKind::Usage, "read keys", at->path().string(), "no host is named so",
                  "a folder of keys has nothing but a file for each host, named as the host");
    }
    TRY(const Secret key, read_key(at->path()));
    keys.emplace(host, key);
  }
  if (error) {
    return fail(from_errno(error.value(), "read keys", folder));
  }
  TRY(check_no_copies(keys, folder));
  return keys;
}

Result<KeyRing> read_keys_of_hosts(const std::string& folder) {
  TRY(HostKeys keys, keys_of_hosts(folder));
  if (keys.empty()) {
    return fail(ErrorKind::Usage, "read keys", folder, "there is no key in it",
                "it wants a file for each host, named as the host");
  }
  return KeyRing(std::move(keys));
}

Result<Secret> read_key_for(const std::string& path, const std::string& peer) {
  if (!is_folder(path)) {
    return read_key(path);
  }
  if (!is_host_name(peer)) {
    return fail(ErrorKind::Usage, "read key", path, "no file can be named as '" + peer + "'");
  }
  return read_key((std::filesystem::path(path) / peer).string());
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

constexpr std::int64_t kLookEveryNs = 1'000'000'000;

std::string sight_of(const std::filesystem::path& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) < 0) {
    return {};
  }
  return fmt::format("{} {} {} {} {}.{} {}.{}\n", path.filename().string(), about.st_ino,
                     about.st_mode, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec,
                     about.st_ctim.tv_sec, about.st_ctim.tv_nsec);
}

}  // namespace

KeyFolder::KeyFolder(std::string folder) : folder_(std::move(folder)), seen_(glance()) {}

std::optional<Result<KeyRing>> KeyFolder::news(std::int64_t now_ns) {
  if (now_ns - looked_ns_ < kLookEveryNs) {
    return std::nullopt;
  }
  looked_ns_ = now_ns;
  std::string now = glance();
  if (now == seen_) {
    return std::nullopt;
  }
  seen_ = std::move(now);
  Result<HostKeys> keys = keys_of_hosts(folder_);
  return keys ? Result<KeyRing>(KeyRing(*std::move(keys))) : std::unexpected(keys.error());
}

std::string KeyFolder::glance() const {
  std::set<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    files.insert(sight_of(at->path()));
  }
  std::string all = error ? "" : sight_of(folder_);
  for (const std::string& file : files) {
    all += file;
  }
  return all;
}

}  // namespace chokepoint::control
