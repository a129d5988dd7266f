// The result of a latency test: its round trips when idle and under load in each direction, and
// the difference, which is the delay of the queues on the path. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/documents/probe_latency.h"
#include "probe/latency/load.h"
#include "probe/latency/test.h"

namespace chokepoint::probe::latency {

struct Spread {
  std::optional<documents::RoundTrips> trips = {};
  std::uint64_t sent = 0;
  std::uint64_t lost() const;
  // nullopt where nothing was sent.
  std::optional<double> loss_percent() const;
};

Spread spread_of(const RoundTrips& trips);

struct Idle {
  Spread tcp = {};
  Spread udp = {};
};

struct Loaded {
  documents::UnderLoad figures = {};
  Spread tcp = {};
  Spread udp = {};
  // Of the load.
  std::optional<double> send_mbps = {};
  std::optional<double> receive_mbps = {};
};

Loaded loaded(const Phase& phase, const LoadResult& load, const Idle& idle);

// Sentences without a full stop. `doing`: "sending".

// "sending 94 Mb/s adds …"
std::string sentence_of(const Idle& idle, const Loaded& loaded, std::string_view doing);
// "sending: 230 RPM (poor, …)", and where a request within the load spends its time.
std::string responsiveness_sentence(const documents::Responsiveness& is, std::string_view doing);

}  // namespace chokepoint::probe::latency
