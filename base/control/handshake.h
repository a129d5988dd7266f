// Who may ask for tests: both sides of the opening four messages, as steps without I/O. With a key
// each proves to the other that it has it, over everything said before, so that a recorded
// handshake is worth nothing and no version can be talked down. One object a connection; one
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// The key that both ends of a control connection may share, and what is made of it: HMAC-SHA-256 by
// libsodium, compared in constant time. Nonces make every proof good for one connection only.
// Values; any thread.

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

struct Identity {
  std::string program;  // "chokepoint 0.1.0"
  std::string host;
};

// What a client knows once it is in.
struct Admittance {
  Identity server;
  std::string session;       // names the session to the door
  Secret secret = {};        // proves to the door that a data connection is the session's
  std::string seen_as = {};  // this client's address as the server sees it
  Limits limits = {};
};

class ClientHandshake {
 public:
  ClientHandshake(Identity own, std::optional<Secret> key);

  Message hello();
  Result<Message> proof(const Message& welcome);
  Result<Admittance> admitted(const Message& answer) const;

 private:
  Identity own_;
  std::optional<Secret> key_;
  Identity server_;
  std::string hello_;    // as said
  std::string welcome_;  // as heard
};

class ServerHandshake {
 public:
  ServerHandshake(Identity own, std::optional<Secret> key);

  Result<Message> welcome(const Message& hello);
  // Whether the client has the key, where one is wanted.
  Result<> check(const Message& proof) const;
  Message admit(const std::string& session, const std::string& seen_as, const Limits& limits);

  const Identity& client() const { return client_; }
  const Secret& secret() const { return secret_; }

 private:
  Identity own_;
  std::optional<Secret> key_;
  Identity client_;
  Secret secret_{};
  std::string hello_;
  std::string welcome_;
};

// What a data connection opens with, and whether it may.
Message attach(const std::string& session, const Secret& secret, int index);
struct Attachment {
  std::string session;
  int index = 0;
  Mac mac{};
};
Result<Attachment> read_attach(const Message& message);
bool proves(const Attachment& attachment, const Secret& secret);

}  // namespace chokepoint::control
