// A latency test from the client's end: connections to ping over. Borrows the client; one thread.
#pragma once

#include <optional>

#include "base/control/client.h"
#include "probe/latency/parameters.h"
#include "probe/udp/flow.h"

namespace chokepoint::probe::latency {

class Test {
 public:
  // Without UDP where the two ends cannot meet over it: `udp_problem` tells why.
  static Result<Test> open(control::Client& client, const Parameters& parameters,
                           const net::SocketOptions& options, int interrupt,
                           const control::Waiting& waiting);

  int tcp() const { return tcp_.get(); }
  int udp() const { return flows_ ? flows_->flows.front().fd.get() : -1; }
  std::uint64_t id() const { return flows_ ? flows_->test : 0; }
  const std::optional<Error>& udp_problem() const { return udp_problem_; }

  Result<> close();

 private:
  Test(control::Client& client, sys::Descriptor tcp, std::optional<udp::Flows> flows,
       std::optional<Error> udp_problem)
      : client_(&client),
        tcp_(std::move(tcp)),
        flows_(std::move(flows)),
        udp_problem_(std::move(udp_problem)) {}

  control::Client* client_;
  sys::Descriptor tcp_;
  std::optional<udp::Flows> flows_;
  std::optional<Error> udp_problem_;
};

}  // namespace chokepoint::probe::latency
