// The server's side of one nuttcp test, as drawn in protocol.h. Every step has a deadline. Belongs
// to the test's thread.
#pragma once

#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/net/patience.h"
#include "probe/nuttcp/line_channel.h"
#include "probe/nuttcp/parameters.h"
#include "probe/nuttcp/result_text.h"
#include "probe/nuttcp/server.h"
#include "probe/peer/datagram_meter.h"
#include "probe/peer/door.h"
#include "probe/tcp/endpoint.h"

namespace chokepoint::probe::nuttcp {

class ServerTalk {
 public:
  ServerTalk(peer::Visitor client, const ServerOptions& options, int stop);

  // The whole test. What was done, for the log.
  Result<std::string> converse();

 private:
  Result<Parameters> hear_parameters();
  Result<> refuse(const Error& error);

  Result<Tally> serve_tcp(const Parameters& parameters);
  Result<std::vector<sys::Descriptor>> listen(const Parameters& parameters) const;
  Result<std::vector<tcp::Connection>> take_in(const Parameters& parameters,
                                               std::vector<sys::Descriptor> listeners) const;
  Result<std::vector<tcp::Connection>> reach_out(const Parameters& parameters) const;
  Result<Tally> flow(const Parameters& parameters, tcp::Endpoint& endpoint);

  Result<Tally> serve_udp(const Parameters& parameters);
  Result<sys::Descriptor> open_udp(const Parameters& parameters) const;
  Result<> meet(int socket, const Parameters& parameters);
  Result<> flow(const Parameters& parameters, peer::DatagramMeter& meter) const;

  Result<> say(const std::string& text);
  // The interval lines have an end where there were any.
  Result<> say_closing(const Parameters& parameters, const Tally& tally);

  LineChannel channel_;
  net::Endpoint from_;
  const ServerOptions& options_;
  int stop_;
};

}  // namespace chokepoint::probe::nuttcp
