// An iperf3 test's UDP data.
#pragma once

#include <memory>
#include <vector>

#include "probe/iperf3/parameters.h"
#include "probe/iperf3/traffic.h"
#include "probe/peer/datagram_meter.h"

namespace chokepoint::probe::iperf3 {

class UdpTraffic final : public Traffic {
 public:
  // The sockets in the order of their ids, connected to their peers.
  UdpTraffic(std::vector<peer::DatagramSocket> sockets, const Parameters& parameters,
             bool at_server, peer::DatagramMeter::OnInterval on_interval);

  Result<> begin() override { return meter_.begin(); }
  void tick() override { meter_.tick(); }
  bool sent() const override { return meter_.sent(); }
  bool closed() const override { return false; }
  std::uint64_t received_bytes() const override { return meter_.bytes(peer::Role::Receive); }
  void stop_sending() override { meter_.stop(peer::Role::Send); }
  void end() override { meter_.end(); }
  EndResults results() const override;

  const peer::DatagramMeter& meter() const { return meter_; }

 private:
  peer::DatagramMeter meter_;
};

}  // namespace chokepoint::probe::iperf3
