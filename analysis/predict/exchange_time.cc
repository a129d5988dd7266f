#include "analysis/predict/exchange_time.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxSegmentBytes = 1024 * 1024;

using json::Json;

std::optional<double> positive(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number() || found->get<double>() <= 0) {
    return std::nullopt;
  }
  return found->get<double>();
}

// A distribution's median, or a plain number.
std::optional<double> typical_us(const Json& size) {
  const auto found = size.find("time_us");
  if (found == size.end()) return std::nullopt;
  return found->is_object() ? positive(*found, "median") : positive(size, "time_us");
}

std::vector<CurvePoint> points_of(const Json& document) {
  std::vector<CurvePoint> points;
  const auto sizes = document.find("sizes");
  if (sizes == document.end() || !sizes->is_array()) return points;
  for (const Json& size : *sizes) {
    if (!size.is_object()) continue;
    const auto bytes = positive(size, "bytes");
    const auto time_us = typical_us(size);
    if (bytes && time_us) {
      points.push_back({.bytes = *bytes, .ms = *time_us / 1000});
    }
  }
  std::ranges::sort(points, {}, &CurvePoint::bytes);
  return points;
}

std::string text(const Json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

double curve_ms(const PlannedExchange& exchange, const Medium& medium, double ranks) {
  const double measured_ranks =
      medium.curve->ranks > 0 ? static_cast<double>(medium.curve->ranks) : ranks;
  return time_ms(*medium.curve, exchange.bytes) * bus_factor(exchange.collective, ranks) /
         bus_factor(Collective::AllReduce, measured_ranks);
}

}  // namespace

double bus_factor(Collective collective, double ranks) {
  if (ranks <= 1) return 0;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (ranks - 1) / ranks;
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return (ranks - 1) / ranks;
    case Collective::Broadcast:
    case Collective::SendReceive:
      return 1;
  }
  return 1;
}

double ring_hops(Collective collective, double ranks) {
  if (ranks <= 1) return 0;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (ranks - 1);
    case Collective::SendReceive:
      return 1;
    default:
      return ranks - 1;
  }
}

double ring_ms(Collective collective, double bytes, double ranks, const Hop& hop) {
  return ring_hops(collective, ranks) * hop.alpha_ms +
         bus_factor(collective, ranks) * bytes / hop.bytes_per_ms;
}

double tree_all_reduce_ms(double bytes, double nodes, const Hop& hop) {
  if (nodes <= 1) return 0;
  return 2 * std::ceil(std::log2(nodes)) * hop.alpha_ms +
         bus_factor(Collective::AllReduce, nodes) * bytes / hop.bytes_per_ms;
}

GlooSegments gloo_segments(double tensor_bytes, double ranks) {
  const double needed = std::max(std::ceil(tensor_bytes / kMaxSegmentBytes), 2 * ranks);
  const double count = std::ceil(needed / ranks) * ranks;  // as many for each rank
  return {.bytes = tensor_bytes / count, .count = count - count / ranks};
}

double gloo_ring_ms(double tensor_bytes, double ranks, double rtt_ms, double bytes_per_ms) {
  if (ranks <= 1) return 0;
  const GlooSegments segments = gloo_segments(tensor_bytes, ranks);
  const double serial_ms = segments.bytes / bytes_per_ms;
  double phase_ms = rtt_ms + segments.count * serial_ms;
  if (rtt_ms > serial_ms) {  // credits come too late to keep the link busy
    const double pairs = std::ceil(segments.count / 2);
    const bool is_last_pair_whole = std::fmod(segments.count, 2) == 0;
    phase_ms = pairs * (rtt_ms + serial_ms) + (is_last_pair_whole ? serial_ms : 0);
  }
  return 2 * phase_ms;
}

double gloo_credit_mbps(double tensor_bytes, double ranks, double rtt_ms) {
  return 2 * std::min(kMaxSegmentBytes, tensor_bytes / (2 * ranks)) * 8 / rtt_ms / 1000;
}

Result<Curve> parse_curve(std::string_view text_of_file, std::string_view name) {
  const Json document = json::object_or_null(text_of_file);
  const auto bad = [&](std::string_view why) {
    return fail(ErrorKind::Malformed, "--curve", name, why,
                "give what 'chokepoint probe collective --json' printed");
  };
  if (!document.is_object()) {
    return bad("not a JSON document");
  }
  const std::string collective = text(document, "collective");
  if (!collective.empty() && collective != "all-reduce" && collective != "allreduce" &&
      collective != "all_reduce") {
    return bad("measured " + collective + ", not all-reduce");
  }
  Curve curve{.backend = text(document, "backend"), .points = points_of(document)};
  if (const auto ranks = positive(document, "ranks"); ranks && *ranks < 1e6) {
    curve.ranks = static_cast<std::int64_t>(*ranks);
  }
  if (const auto alpha_us = positive(document, "alpha_us")) {
    curve.alpha_ms = *alpha_us / 1000;
  }
  curve.beta_mbps = positive(document, "beta_mbps");
  if (curve.points.empty() && !curve.beta_mbps) {
    return bad("has neither sizes with times nor beta_mbps");
  }
  return curve;
}

double time_ms(const Curve& curve, double bytes) {
  const auto& points = curve.points;
  if (points.empty()) {
    return curve.alpha_ms.value_or(0) + bytes * 8 / (*curve.beta_mbps * 1000);
  }
  const auto above = std::ranges::lower_bound(points, bytes, {}, &CurvePoint::bytes);
  if (above == points.begin()) {
    return above->ms;
  }
  const CurvePoint& below = *(above - 1);
  if (above == points.end()) {
    return below.ms * bytes / below.bytes;
  }
  return below.ms + (above->ms - below.ms) * (bytes - below.bytes) / (above->bytes - below.bytes);
}

double exchange_ms(const PlannedExchange& exchange, const Medium& medium) {
  const double ranks = exchange.ranks > 0 ? exchange.ranks : medium.ranks.count;
  if (ranks <= 1) return 0;
  if (medium.curve != nullptr && medium.curve->ranks != 1) {
    return curve_ms(exchange, medium, ranks);
  }
  const Wire& wire = medium.wire;
  const double sent_bytes = bus_factor(exchange.collective, ranks) * exchange.bytes;
  const Hop hop{.alpha_ms = wire.alpha_ms, .bytes_per_ms = bytes_per_ms(wire, sent_bytes)};
  if (exchange.collective != Collective::AllReduce) {
    return ring_ms(exchange.collective, exchange.bytes, ranks, hop);
  }
  if (medium.backend == "gloo") {
    // Credits wait for each other, so at most two segments are in the window.
    const double in_flight_bytes = 2 * gloo_segments(exchange.bytes, ranks).bytes;
    return gloo_ring_ms(exchange.bytes, ranks, 2 * wire.alpha_ms,
                        bytes_per_ms(wire, in_flight_bytes));
  }
  if (medium.algorithm == Algorithm::Tree && exchange.ranks == 0) {
    const double nodes = medium.ranks.nodes > 1 ? medium.ranks.nodes : ranks;
    return tree_all_reduce_ms(exchange.bytes, nodes, hop);
  }
  return ring_ms(exchange.collective, exchange.bytes, ranks, hop);
}

}  // namespace chokepoint::analysis
