// The data of an iperf3 test at one end, over TCP or UDP, apart from the control connection. Owns
// its sockets and threads. Called from the thread that runs the test, about every control::kTick.
//
//   begin ─ tick … ─► sent() ─► stop_sending ─ tick … ─► received_bytes() stays ─► end ─► results
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/sys/error.h"
#include "base/sys/root.h"
#include "probe/iperf3/messages.h"
#include "probe/peer/datagram_meter.h"
#include "probe/tcp/endpoint.h"

namespace chokepoint::probe::iperf3 {

class Traffic {
 public:
  virtual ~Traffic() = default;

  virtual Result<> begin() = 0;
  virtual void tick() = 0;
  // This end has no more to send, but some of it may still wait to be acknowledged.
  virtual bool sending_over() const = 0;
  // Everything that this end had to send has arrived, as far as its kernel knows.
  virtual bool sent() const = 0;
  // The peer has closed every stream; never for UDP.
  virtual bool closed() const = 0;
  virtual std::uint64_t received_bytes() const = 0;
  virtual void stop_sending() = 0;
  // Stops all data; the results do not change any more.
  virtual void end() = 0;
  virtual EndResults results() const = 0;
};

// What the engine of this program's own tests is asked for. `at_server`: the server sends until the
// client ends the test.
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
  bool sending_over() const override;
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

  std::unique_ptr<tcp::Endpoint> endpoint_;
  tcp::Parameters parameters_;
  tcp::OnInterval on_interval_;
  std::vector<sys::Descriptor> senders_;  // to ask what is still in their queues
  std::chrono::steady_clock::time_point begun_;
  bool stopped_ = false;
  bool last_tick_done_ = false;
};

class UdpTraffic final : public Traffic {
 public:
  // The sockets in the order of their ids, connected to their peers.
  UdpTraffic(std::vector<peer::DatagramSocket> sockets, const Parameters& parameters,
             bool at_server);

  Result<> begin() override { return meter_.begin(); }
  void tick() override { meter_.tick(); }
  bool sending_over() const override { return meter_.sent(); }
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
