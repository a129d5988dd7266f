#include "probe/latency/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/math/units.h"
#include "probe/latency/rpm.h"

namespace chokepoint::probe::latency {
namespace {

constexpr double kP90 = 0.9;
// A queueing delay that slows a collective of many rounds.
constexpr double kSomeMs = 2;
// One that people notice.
constexpr double kMuchMs = 50;
// Less is within what the scheduler of a busy host adds, which grows with the round trip.
constexpr double kTimesIdle = 1.5;

std::string rate_of(const LoadResult& load) {
  const auto text = [](double mbps) { return math::format_rate(mbps * 1e6); };
  if (load.send_mbps && load.receive_mbps) {
    return fmt::format("{} and {}", text(*load.send_mbps), text(*load.receive_mbps));
  }
  return text(load.send_mbps.value_or(load.receive_mbps.value_or(0)));
}

}  // namespace

std::optional<double> Spread::loss_percent() const {
  return sent == 0 ? std::nullopt
                   : std::optional(static_cast<double>(lost()) * math::kPercent /
                                   static_cast<double>(sent));
}

Spread spread_of(const RoundTrips& trips) {
  return {.values = trips.histogram.distribution(math::kNsPerMs),
          .p90 = trips.histogram.quantile(kP90) / math::kNsPerMs,
          .sent = trips.sent};
}

Loaded loaded(const Phase& phase, LoadResult load, const Idle& idle) {
  Loaded result{.tcp = spread_of(phase.tcp), .udp = spread_of(phase.udp), .load = std::move(load)};
  if (result.tcp.values.count > 0 && idle.tcp.values.count > 0) {
    result.bufferbloat_ms = result.tcp.values.median - idle.tcp.values.median;
  }
  return result;
}

std::string_view name_of(Bloat bloat) {
  constexpr std::array<std::string_view, 4> kNames{"unknown", "none", "some", "much"};
  return kNames.at(static_cast<std::size_t>(bloat));
}

Bloat judge(const Idle& idle, const Loaded& loaded) {
  if (!loaded.bufferbloat_ms || loaded.load.connections == 0) {
    return Bloat::Unknown;
  }
  if (*loaded.bufferbloat_ms < kSomeMs ||
      loaded.tcp.values.median < kTimesIdle * idle.tcp.values.median) {
    return Bloat::None;
  }
  return *loaded.bufferbloat_ms < kMuchMs ? Bloat::Some : Bloat::Much;
}

std::string sentence_of(const Idle& idle, const Loaded& loaded, std::string_view doing) {
  const Bloat bloat = judge(idle, loaded);
  if (bloat == Bloat::Unknown) {
    return fmt::format("{}: not measured", doing);
  }
  const std::string load = fmt::format("{} {}", doing, rate_of(loaded.load));
  if (bloat == Bloat::None) {
    return fmt::format("{} leaves the round trip at {} (idle {}): no queue builds up", load,
                       math::format_ms(loaded.tcp.values.median),
                       math::format_ms(idle.tcp.values.median));
  }
  // BBR leaves the queue of several connections full: docs/internals/latency.md has the figures.
  return fmt::format(
      "{} adds {} to a round trip of {}: a queue on the way holds it; fq_codel or a smaller queue "
      "where the line narrows{} would shorten it",
      load, math::format_ms(*loaded.bufferbloat_ms), math::format_ms(idle.tcp.values.median),
      loaded.load.connections == 1 ? ", or BBR at the sender," : "");
}

std::string responsiveness_sentence(const LoadResult& load, std::string_view doing) {
  const Responsiveness& is = load.responsiveness;
  if (!is.rpm) {
    return fmt::format("{}: no RPM, because too few probes came back", doing);
  }
  std::string text = fmt::format("{}: {:.0f} RPM ({}, {} confidence)", doing, *is.rpm,
                                 rating_of(*is.rpm), name_of(load.confidence));
  const std::optional<double> buffer = self_buffer_ms(is);
  if (!buffer) {
    return text;
  }
  text += fmt::format(
      "; a request within the load takes {}, of it {} on the way and {} in the sender's buffer",
      math::format_ms(*is.self_ms), math::format_ms(*is.self_path_ms), math::format_ms(*buffer));
  return *buffer > std::max(*is.self_path_ms, kSomeMs)
             ? text + ", which the sysctl net.ipv4.tcp_notsent_lowat there bounds"
             : text;
}

}  // namespace chokepoint::probe::latency
