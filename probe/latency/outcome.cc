#include "probe/latency/outcome.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/math/units.h"
#include "probe/latency/rpm.h"

namespace chokepoint::probe::latency {
namespace {

using documents::Bloat;

constexpr double kP90 = 0.9;
// The queueing delay that slows a collective of many rounds. Chosen.
constexpr double kMildBloatMs = 2;
// The queueing delay that people notice. Chosen.
constexpr double kSevereBloatMs = 50;
// The least ratio to the idle round trip: less is within what the scheduler of a busy host adds,
// which grows with the round trip.
constexpr double kMinBloatFactor = 1.5;

std::string rate_of(const Loaded& load) {
  const auto text = [](double mbps) { return math::format_rate(mbps * 1e6); };
  if (load.send_mbps && load.receive_mbps) {
    return fmt::format("{} and {}", text(*load.send_mbps), text(*load.receive_mbps));
  }
  return text(load.send_mbps.value_or(load.receive_mbps.value_or(0)));
}

Bloat judge(const Idle& idle, const Loaded& loaded) {
  const documents::UnderLoad& is = loaded.figures;
  if (!is.bufferbloat_ms || is.load->connections == 0) {
    return Bloat::Unknown;
  }
  if (*is.bufferbloat_ms < kMildBloatMs ||
      loaded.tcp.trips->median < kMinBloatFactor * idle.tcp.trips->median) {
    return Bloat::None;
  }
  return *is.bufferbloat_ms < kSevereBloatMs ? Bloat::Some : Bloat::Much;
}

documents::LatencyLoad load_of(const LoadResult& load) {
  const bool is_known = load.send_mbps || load.receive_mbps;
  const double mbps = load.send_mbps.value_or(0) + load.receive_mbps.value_or(0);
  return {.connections = load.connections,
          .stable = load.responsiveness.goodput_confidence == Confidence::High,
          .throughput_mbps = is_known ? std::optional(mbps) : std::nullopt,
          .rtt_p90_ms = load.path_p90_ms,
          .error = load.error ? describe(*load.error) : ""};
}

}  // namespace

std::uint64_t Spread::lost() const {
  const std::uint64_t answered = trips ? trips->count : 0;
  return sent > answered ? sent - answered : 0;
}

std::optional<double> Spread::loss_percent() const {
  return sent == 0 ? std::nullopt
                   : std::optional(static_cast<double>(lost()) * math::kPercent /
                                   static_cast<double>(sent));
}

Spread spread_of(const RoundTrips& trips) {
  const math::Distribution values = trips.histogram.distribution(math::kNsPerMs);
  Spread spread{.sent = trips.sent};
  if (values.count > 0) {
    spread.trips = {.min = values.min,
                    .median = values.median,
                    .p90 = trips.histogram.quantile(kP90) / math::kNsPerMs,
                    .p99 = values.p99,
                    .max = values.max,
                    .mean = values.mean,
                    .count = values.count};
  }
  return spread;
}

Loaded loaded(const Phase& phase, const LoadResult& load, const Idle& idle) {
  Loaded result{.tcp = spread_of(phase.tcp),
                .udp = spread_of(phase.udp),
                .send_mbps = load.send_mbps,
                .receive_mbps = load.receive_mbps};
  documents::UnderLoad& figures = result.figures;
  figures = {.loaded_ms = result.tcp.trips,
             .rpm = load.responsiveness.rpm,
             .responsiveness = load.responsiveness,
             .load = load_of(load)};
  if (result.tcp.trips && idle.tcp.trips) {
    figures.bufferbloat_ms = result.tcp.trips->median - idle.tcp.trips->median;
  }
  figures.bloat = judge(idle, result);
  return result;
}

std::string sentence_of(const Idle& idle, const Loaded& loaded, std::string_view doing) {
  const documents::UnderLoad& is = loaded.figures;
  if (is.bloat == Bloat::Unknown) {
    return fmt::format("{}: not measured", doing);
  }
  const std::string load = fmt::format("{} {}", doing, rate_of(loaded));
  if (is.bloat == Bloat::None) {
    return fmt::format("{} leaves the round trip at {} (idle {}): no queue builds up", load,
                       math::format_ms(loaded.tcp.trips->median),
                       math::format_ms(idle.tcp.trips->median));
  }
  // BBR leaves the queue of several connections full: docs/internals/latency.md has the figures.
  return fmt::format(
      "{} adds {} to a round trip of {}: a queue on the path holds it; fq_codel or a smaller queue "
      "where the line narrows{} would shorten it",
      load, math::format_ms(*is.bufferbloat_ms), math::format_ms(idle.tcp.trips->median),
      is.load->connections == 1 ? ", or BBR at the sender," : "");
}

std::string responsiveness_sentence(const documents::Responsiveness& is, std::string_view doing) {
  if (!is.rpm) {
    return fmt::format("{}: no RPM, because too few probes came back", doing);
  }
  std::string text = fmt::format("{}: {:.0f} RPM ({}, {} confidence)", doing, *is.rpm,
                                 rating_of(*is.rpm), name_of(is.confidence));
  if (!is.self_buffer_ms) {
    return text;
  }
  text += fmt::format(
      "; a request within the load takes {}, of it {} on the path and {} in the sender's buffer",
      math::format_ms(*is.self_ms), math::format_ms(*is.self_path_ms),
      math::format_ms(*is.self_buffer_ms));
  return *is.self_buffer_ms > std::max(*is.self_path_ms, kMildBloatMs)
             ? text + ", which the sysctl net.ipv4.tcp_notsent_lowat there bounds"
             : text;
}

}  // namespace chokepoint::probe::latency
