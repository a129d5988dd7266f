// Who may ask for tests: both sides of the opening four messages, as steps without I/O. The first
// two carry a public key each, from the third on all is sealed (message.h). An end that can open
// the other's sealed messages has the same key and received the same messages. So a recorded or
// forwarded handshake is useless, and no third party can force an older version. One object a
// connection; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/control/key.h"
#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::control {

struct Identity {
  std::string program;  // "chokepoint 0.1.0"
  std::string host;
};

// What a client knows once it is in.
struct Admittance {
  Identity server;
  std::string session;       // by which the acceptor finds the session
  Secret secret = {};        // proves that a data connection is the session's
  std::string seen_as = {};  // this client's address as the server sees it
  Limits limits = {};
};

class ClientHandshake {
 public:
  ClientHandshake(Identity own, std::optional<Secret> key);

  Message hello();
  // The keys are there from then on; this message is the first that is sealed.
  Result<Message> proof(const Message& welcome);
  const ConnectionKeys& keys() const { return keys_; }
  Result<Admittance> admitted(const Message& answer) const;

 private:
  Identity own_;
  std::optional<Secret> key_;
  KeyExchange exchange_;
  Identity server_;
  std::string hello_;  // as sent
  ConnectionKeys keys_;
};

class ServerHandshake {
 public:
  ServerHandshake(Identity own, KeyRing ring);

  Result<Message> welcome(const Message& hello);
  // Before the Proof is read. Not part of welcome(): a client that sends only a Hello shall not
  // cost a multiplication of points.
  Result<> agree();
  const ConnectionKeys& keys() const { return keys_; }
  // `proof` came sealed: its client has the key.
  static Result<> check(const Message& proof);
  static Message admit(const std::string& session, const std::string& seen_as,
                       const Limits& limits);

  const Identity& client() const { return client_; }
  // Whether the client had to have a key.
  bool wants_key() const { return !ring_.is_empty(); }

 private:
  Identity own_;
  KeyRing ring_;
  KeyExchange exchange_;
  Identity client_;
  Secret theirs_{};
  ConnectionKeys keys_;
  std::string hello_;
  std::string welcome_;
};

// What a data connection opens with, and whether it may. `test` counts the requests of the session,
// from 1 on: the proof of one test's connection is none for another test.
struct Attachment {
  std::string session;
  int index = 0;
  Mac mac{};
};
Message attach(const std::string& session, const Secret& secret, std::uint64_t test, int index);
Result<Attachment> read_attach(const Message& message);
bool proves(const Attachment& attachment, const Secret& secret, std::uint64_t test);

}  // namespace chokepoint::control
