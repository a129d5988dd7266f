// The key that both ends of a control connection may share, and what is made of it: HMAC-SHA-256 by
// libsodium, compared in constant time. Nonces make every proof good for one connection only.
// Values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
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
// The same rules for a key that is no file's: what is said of it names `subject`.
Result<std::string> key_text_in(std::string_view content, std::string_view subject);

Secret random_secret();
std::string random_id();  // 32 hexadecimal digits

// Over all parts, each with its length, so that no two lists of parts sound alike.
Mac mac_of(const Secret& secret, std::initializer_list<std::string_view> parts);
bool same(const Mac& mine, const Mac& theirs);

std::string to_hex(std::span<const std::uint8_t> bytes);
// Exactly 64 digits.
std::optional<Mac> from_hex(std::string_view text);

}  // namespace chokepoint::control
