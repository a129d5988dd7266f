// The numbers of a probe's document that a job's own can be compared with, whichever command wrote
// it. What is missing or malformed in it is empty. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/net/address.h"
#include "base/record/entities.h"

namespace chokepoint::analysis {

enum class ProbeDirection { Send, Receive };  // as the host that ran it calls the direction

struct ProbedDirection {
  std::optional<double> throughput_mbps = {};
  std::optional<double> loss_percent = {};   // of packets; by TCP, of retransmitted ones
  std::optional<double> loaded_rtt_ms = {};  // median
  std::optional<double> least_rtt_ms = {};   // of the connection itself
  // Shares of a TCP sender's time, 0 to 1, by its kernel.
  std::optional<double> by_application = {};
  std::optional<double> by_receive_window = {};
  std::optional<double> by_send_buffer = {};
};

struct ProbeDocument {
  std::optional<net::Address> peer = {};
  std::string peer_name = {};  // as the peer calls itself, else as the user named it
  std::optional<double> least_rtt_ms = {};
  std::array<ProbedDirection, 2> directions = {};  // by ProbeDirection

  const ProbedDirection& direction(ProbeDirection which) const {
    return directions.at(static_cast<std::size_t>(which));
  }
};

// nullopt if it is no such document at all.
std::optional<ProbeDocument> read_probe(const record::Probe& probe);

}  // namespace chokepoint::analysis
