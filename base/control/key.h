// The key that both ends of a control connection may share, and what is made of it: HMAC-SHA-256 by
// libsodium, compared in constant time. Values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::control {

using Secret = std::array<std::uint8_t, 32>;  // of crypto_auth_hmacsha256
using Mac = std::array<std::uint8_t, 32>;

// The path by which a key comes through standard input, be that a file, a pipe or a socket.
inline constexpr std::string_view kStandardInput = "/dev/stdin";

// The file's content without white space at its ends, of any length from 16 bytes on. Others must
// not be able to read the file.
Result<std::string> read_key_text(const std::string& path);
// Such a text, hashed.
Secret secret_of(std::string_view key);
Result<Secret> read_key(const std::string& path);
// The same rules for a key that is no file's: errors name `subject`.
Result<std::string> key_text_in(std::string_view content, std::string_view subject);

using HostKeys = std::map<std::string, Secret, std::less<>>;

// The keys by which a server knows its clients: none, one for all, or one for each host, so that no
// host can pose as another. Cheap to copy.
class KeyRing {
 public:
  KeyRing() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): one key, or none, is a ring
  KeyRing(std::optional<Secret> common) : common_(common) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  KeyRing(const Secret& common) : common_(common) {}
  explicit KeyRing(HostKeys of_hosts)
      : of_hosts_(std::make_shared<const HostKeys>(std::move(of_hosts))) {}

  bool is_empty() const { return !common_ && !of_hosts_; }
  // Nothing where the ring is empty; where it has no key of this host, a random one.
  std::optional<Secret> key_of(std::string_view host) const;

 private:
  std::optional<Secret> common_;
  std::shared_ptr<const HostKeys> of_hosts_;
};

bool is_folder(const std::string& path);
// Of a folder: each file's name is a host's, its content that host's key. An Error where a file may
// be a copy that an editor, a package or a user left behind ("gpu7~", "gpu7.old"; "gpu7.x" beside
// "gpu7"): it would admit clients with the old key. There may be none.
Result<HostKeys> keys_of_hosts(const std::string& folder);
// The same, and an Error where there is none.
Result<KeyRing> read_keys_of_hosts(const std::string& folder);
// What `path` holds for a peer: the key itself or, where it is a folder, the file of that name.
Result<Secret> read_key_for(const std::string& path, const std::string& peer);

Secret random_secret();
std::string random_id();  // 32 hexadecimal digits

// Over all parts, each with its length, so that no two lists of parts sound alike.
Mac mac_of(const Secret& secret, std::initializer_list<std::string_view> parts);
bool same(const Mac& mine, const Mac& theirs);

std::string to_hex(std::span<const std::uint8_t> bytes);
// Exactly 64 digits.
std::optional<Mac> from_hex(std::string_view text);

// A folder with a key for each host, read again when it changes, so that a new host needs no
// restart and one that is gone no longer gets in. One thread.

class KeyFolder {
 public:
  // Made before the keys are read for the first time: what changes after that is news.
  explicit KeyFolder(std::string folder);

  // Nothing where no file has changed; looks once a second at most. An Error, once for each change,
  // where what is there now is no folder of keys: the caller goes on with those from before. Where
  // the last key is gone, a ring that admits no client.
  std::optional<Result<KeyRing>> news(std::int64_t now_ns);

 private:
  // Names, places, sizes and times of all files; empty where the folder cannot be read.
  std::string glance() const;

  std::string folder_;
  std::string seen_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace chokepoint::control
