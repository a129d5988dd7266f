// What a round amounts to, of whichever side knows it. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "rdma/session/trial.h"

namespace chokepoint::rdma {

inline constexpr double kNsPerUs = 1000;

struct Figures {
  std::uint64_t messages = 0;  // of both directions
  double duration_s = 0;
  std::optional<double> average_mbps = {};
  std::optional<double> peak_mbps = {};
  std::optional<double> messages_per_s = {};
  std::optional<std::uint64_t> lost = {};  // where the transport may lose
  std::optional<std::uint64_t> mismatches = {};
};

// Both ways: the sum. Where messages may get lost: what arrived, if the peer counts that.
Figures figures_of(const session::Round& round);

// What the line carries of a message's bytes, in 10^6 bit/s, after the headers of each packet.
// Nothing where the rate is not known, or latency is what was measured.
std::optional<double> ceiling_mbps(const session::Trial& trial, std::uint32_t message_bytes);

}  // namespace chokepoint::rdma
