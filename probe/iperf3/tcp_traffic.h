// An iperf3 test's TCP data, moved and measured by the same engine as this program's own tests.
#pragma once

#include <memory>
#include <vector>

#include "base/sys/root.h"
#include "probe/iperf3/parameters.h"
#include "probe/iperf3/traffic.h"
#include "probe/tcp/endpoint.h"

namespace chokepoint::probe::iperf3 {

// What the engine is asked for by a test of these parameters. `at_server`: the server sends until
// it is told that the test is over.
tcp::Parameters engine_parameters(const Parameters& parameters, bool at_server);

class TcpTraffic final : public Traffic {
 public:
  // The connections in the order of their ids.
  static Result<std::unique_ptr<TcpTraffic>> make(std::vector<tcp::Connection> connections,
                                                  const tcp::Parameters& parameters,
                                                  const sys::Root& root,
                                                  tcp::OnInterval on_interval);

  Result<> begin() override;
  void tick() override;
  bool sent() const override;
  bool closed() const override { return endpoint_->done(); }
  std::uint64_t received_bytes() const override;
  void stop_sending() override;
  void end() override;
  EndResults results() const override;

  tcp::Half half() const { return endpoint_->half(); }

 private:
  TcpTraffic(std::unique_ptr<tcp::Endpoint> endpoint, const tcp::Parameters& parameters,
             tcp::OnInterval on_interval, std::vector<sys::Descriptor> senders)
      : endpoint_(std::move(endpoint)),
        parameters_(parameters),
        on_interval_(std::move(on_interval)),
        senders_(std::move(senders)) {}

  std::uint64_t bytes(tcp::Role role) const;
  bool sending_over() const;

  std::unique_ptr<tcp::Endpoint> endpoint_;
  tcp::Parameters parameters_;
  tcp::OnInterval on_interval_;
  std::vector<sys::Descriptor> senders_;  // to ask what is still in their queues
  std::chrono::steady_clock::time_point begun_;
  bool stopped_ = false;
  bool last_tick_done_ = false;
};

}  // namespace chokepoint::probe::iperf3
