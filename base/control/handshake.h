// Who may ask for tests: both sides of the opening four messages, as steps without I/O. With a key
// each proves to the other that it has it, over everything said before, so that a recorded
// handshake is worth nothing and no version can be talked down. One object a connection; one
// thread.
#pragma once

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
