// A client's side of an iperf3 test, step by step as drawn in protocol.h, whatever its data is.
// Owns the control connection. One thread.
#pragma once

#include <functional>
#include <string>

#include "base/net/patience.h"
#include "probe/iperf3/channel.h"
#include "probe/iperf3/client.h"
#include "probe/iperf3/traffic.h"

namespace chokepoint::probe::iperf3 {

class ClientTalk {
 public:
  // Connects and says the cookie.
  static Result<ClientTalk> begin(const ClientOptions& options);

  const net::Endpoint& peer() const { return peer_; }
  const Cookie& cookie() const { return cookie_; }

  // Until the server wants the streams.
  Result<> ask(const Parameters& parameters);
  // Until the server says that the data may flow.
  Result<> start();
  // The data, until the test is over by time, by amount or by the user, and everything that was
  // sent has arrived as far as can be known. True where the user ended it.
  Result<bool> flow(const Parameters& parameters, Traffic& traffic);
  Result<EndResults> finish(Traffic& traffic);

 private:
  ClientTalk(Channel channel, net::Endpoint peer, const Cookie& cookie, int interrupt)
      : channel_(std::move(channel)), peer_(peer), cookie_(cookie), interrupt_(interrupt) {}

  // Waits a tick, and hears what the server may say meanwhile.
  Result<> tick(Traffic& traffic);
  bool over(const Parameters& parameters, const Traffic& traffic,
            net::Patience::Clock::time_point until) const;

  Channel channel_;
  net::Endpoint peer_;
  Cookie cookie_;
  int interrupt_;
};

}  // namespace chokepoint::probe::iperf3
