// The result of a latency test: its round trips when idle, under load each way, and the difference,
// which is what the queues on the path add. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/math/statistics.h"
#include "probe/latency/load.h"
#include "probe/latency/test.h"

namespace chokepoint::probe::latency {

// In milliseconds.
struct Spread {
  math::Distribution values = {};
  double p90 = 0;
  std::uint64_t sent = 0;
  std::uint64_t lost() const { return sent > values.count ? sent - values.count : 0; }
  // nullopt where nothing was sent.
  std::optional<double> loss_percent() const;
};

Spread spread_of(const RoundTrips& trips);

struct Idle {
  Spread tcp = {};
  Spread udp = {};
};

struct Loaded {
  Spread tcp = {};
  Spread udp = {};
  LoadResult load = {};
  // The median round trip less the idle one: what the queues add.
  std::optional<double> bufferbloat_ms = {};
};

Loaded loaded(const Phase& phase, LoadResult load, const Idle& idle);

enum class Bloat { Unknown, None, Some, Much };
std::string_view name_of(Bloat bloat);
Bloat judge(const Idle& idle, const Loaded& loaded);

// Sentences without a full stop. `doing`: "sending".

// "sending 94 Mb/s adds …"
std::string sentence_of(const Idle& idle, const Loaded& loaded, std::string_view doing);
// "sending: 230 RPM (poor, …)", and where a request within the load spends its time.
std::string responsiveness_sentence(const LoadResult& load, std::string_view doing);

}  // namespace chokepoint::probe::latency
