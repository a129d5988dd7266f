// A path test between the two ends: their messages over the control connection, how they agree on
// a UDP flow, and the server's end. The server surveys the path to the client while the client
// surveys the path to the server; both probe along one UDP flow and echo each other's probes.
//
//   client                                     server
//     Request {protocol, probes, …} ──────────►
//     ◄────────────── Ready {udp_port, token}
//     "ckpg" token ═══════════════════════════►   UDP, repeated until it is answered
//     ◄═════════════════════════════════ "ckpw"
//     Begin {udp} ────────────────────────────►   udp false: no answer came
//     ◄───────────────────────────── Begin {}      the server is ready for probes
//     ◄═══════ probes and echoes, UDP ════════►   both at once
//     ◄─────────── Report {the server's survey}    the server is done, and still echoes
//     Stop {} ────────────────────────────────►   the client is done, too, or was interrupted
//     ◄──────────────────────────── Result {}
//
// The server sends nothing by UDP until the client has sent, from the address of its control
// connection, the token that it got there, and never more than it received: no other host can make
// it flood a third party. Sizes and counts in a peer's messages are bounded.
//
// Functions block up to their deadlines; one thread per test. The service runs on a session's
// thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/control/service.h"
#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/path/survey.h"

namespace chokepoint::probe::path {

inline constexpr std::string_view kKind = "path";

struct Parameters {
  Protocol protocol = Protocol::Udp;
  std::uint16_t port = 0;  // with Protocol::Tcp: the one to which the server tries to connect
  int max_hops = 30;
  int probes = 3;
  std::chrono::nanoseconds time = std::chrono::seconds(20);
  bool search_mtu = true;
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);
Result<> check(const Parameters& parameters, const control::Limits& limits);

SurveyOptions survey_options(const Parameters& parameters);

control::Json body_of(const Survey& survey);
Result<Survey> survey_in(const control::Json& body);

// The server's Ready: where the client greets it, and with what.
struct GreetingTarget {
  std::uint16_t udp_port = 0;
  std::string token = {};
};

Result<GreetingTarget> greeting_target_in(const control::Json& body);

// The client's side of the greeting: a socket connected to the server's, once that has answered.
// Timeout: UDP does not pass between the two.
Result<sys::Descriptor> introduce(const net::Address& own, const net::Endpoint& server,
                                  const std::string& token, const net::Deadline& deadline);

// The server's side: answers the client's greetings on an unconnected socket.
class UdpGreeter {
 public:
  UdpGreeter(sys::Descriptor socket, net::Address client, std::string token)
      : socket_(std::move(socket)), client_(client), token_(std::move(token)) {}

  int descriptor() const { return socket_.get(); }
  // Reads a datagram, and answers it if it is the client's greeting.
  void answer();
  // Whether the client has greeted.
  bool met() const { return met_; }
  // The socket, connected to the client. Only after met().
  Result<sys::Descriptor> release();

 private:
  sys::Descriptor socket_;
  net::Address client_;
  std::string token_;
  bool met_ = false;
  net::Endpoint from_ = {};
};

std::unique_ptr<control::Service> path_service();

}  // namespace chokepoint::probe::path
