// The server's side of one iperf3 test, step by step as drawn in protocol.h. Every step has a
// deadline, so a client that is dead, slow or silent holds the server for some seconds at most.
// Belongs to the test's thread.
#pragma once

#include <memory>
#include <string>

#include "base/net/patience.h"
#include "probe/iperf3/channel.h"
#include "probe/iperf3/lobby.h"
#include "probe/iperf3/parameters.h"
#include "probe/iperf3/server.h"
#include "probe/iperf3/traffic.h"

namespace chokepoint::probe::iperf3 {

class ServerTalk {
 public:
  ServerTalk(peer::Visitor client, Lobby& lobby, const ServerOptions& options, int stop);

  // The whole test. What was done, for the log.
  Result<std::string> converse();
  // The lobby is free for the next client. Once is enough, more is harmless.
  void leave();

 private:
  Result<Parameters> hear_parameters();
  Result<> refuse(const Error& error);
  Result<std::unique_ptr<Traffic>> collect(const Parameters& parameters);
  Result<std::unique_ptr<Traffic>> collect_tcp(const Parameters& parameters);
  Result<std::unique_ptr<Traffic>> collect_udp(const Parameters& parameters);
  Result<sys::Descriptor> open_udp(const Parameters& parameters) const;
  Result<sys::Descriptor> greeted(sys::Descriptor& waiting, const Parameters& parameters, bool last,
                                  const net::Patience& patience) const;
  // Until the client says that the test is over.
  Result<> flow(const Parameters& parameters, Traffic& traffic);
  Result<EndResults> exchange(const Parameters& parameters, Traffic& traffic);

  Channel channel_;
  net::Endpoint from_;
  Lobby& lobby_;
  const ServerOptions& options_;
  int stop_;
  bool left_ = false;
};

}  // namespace chokepoint::probe::iperf3
