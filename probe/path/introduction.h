// How two ends that know each other over TCP come to share a UDP flow. The server sends nothing by
// UDP until the client has shown, from the very address of its control connection, the token that
// it was given there, and never more than it was sent: nobody can be made to flood a third party.
//
//   client                                               server
//     ◄──────── Ready {udp_port, token} ────── control, TCP
//     "ckpg" token ═══════════════════════════════════►  UDP, repeated until it is answered
//     ◄═════════════════════════════════════════ "ckpw"
//     Begin {udp: true} ─────────────────────► control    false: nothing came back
//
// Blocking with deadlines; one thread.
#pragma once

#include <string>

#include "base/net/address.h"
#include "base/net/patience.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::path {

// The client's side: a socket connected to the server's, once that has answered. Timeout: UDP does
// not pass between the two.
Result<sys::Descriptor> introduce(const net::Address& own, const net::Endpoint& server,
                                  const std::string& token, const net::Patience& patience);

// The server's: answers greetings on an unconnected socket. False while none that counts came.
class Doorman {
 public:
  Doorman(sys::Descriptor socket, net::Address client, std::string token)
      : socket_(std::move(socket)), client_(client), token_(std::move(token)) {}

  int descriptor() const { return socket_.get(); }
  // Reads what came, answers the client; nothing else is read or answered.
  void answer();
  bool met() const { return met_; }
  // Connected to the client. Only after met().
  Result<sys::Descriptor> release();

 private:
  sys::Descriptor socket_;
  net::Address client_;
  std::string token_;
  bool met_ = false;
  net::Endpoint from_ = {};
};

}  // namespace chokepoint::probe::path
