// A client's side of the control connection, as drawn in protocol.h. One thread.
#pragma once

#include <chrono>

#include "probe/nuttcp/client.h"
#include "probe/nuttcp/line_channel.h"

namespace chokepoint::probe::nuttcp {

// What a test may last beyond its own time before a client gives it up.
inline constexpr std::chrono::seconds kClientGrace{10};

class ClientTalk {
 public:
  // Connects and greets.
  static Result<ClientTalk> begin(const ClientOptions& options);

  const net::Endpoint& peer() const { return peer_; }
  const Version& version() const { return version_; }
  const LineChannel& channel() const { return channel_; }

  // Until the server has agreed.
  Result<> ask(const Parameters& parameters);
  Result<ResultText> results();

 private:
  ClientTalk(LineChannel channel, net::Endpoint peer, const Version& version, int interrupt)
      : channel_(std::move(channel)), peer_(peer), version_(version), interrupt_(interrupt) {}

  LineChannel channel_;
  net::Endpoint peer_;
  Version version_;
  int interrupt_;
};

}  // namespace chokepoint::probe::nuttcp
