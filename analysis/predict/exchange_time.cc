#include "analysis/predict/exchange_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/documents/collective.h"
#include "base/documents/document.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxSegmentBytes = 1024 * 1024;
constexpr double kMostTimesLarger = 64;       // than the largest size that was measured
constexpr double kFasterThanAnyMbps = 100e6;  // 100 Tb/s

// By a size's median time.
std::vector<CurvePoint> points_of(const std::vector<documents::CollectiveSize>& sizes) {
  std::vector<CurvePoint> points;
  for (const documents::CollectiveSize& size : sizes) {
    if (size.time_us && size.time_us->median > 0) {
      points.push_back(
          {.bytes = static_cast<double>(size.bytes), .ms = size.time_us->median / 1000});
    }
  }
  std::ranges::sort(points, {}, &CurvePoint::bytes);
  return points;
}

// Of the smallest sizes.
double latency_ms(const Curve& curve) {
  const auto& points = curve.points;
  const double first_ms = points.front().ms;
  if (curve.alpha_ms) return std::clamp(*curve.alpha_ms, 0.0, first_ms);
  if (points.size() < 2 || points[1].bytes <= points[0].bytes) return 0;
  const double ms_per_byte = (points[1].ms - first_ms) / (points[1].bytes - points[0].bytes);
  return std::clamp(first_ms - ms_per_byte * points[0].bytes, 0.0, first_ms);
}

// Of the largest sizes.
double last_ms_per_byte(const std::vector<CurvePoint>& points) {
  const CurvePoint& last = points.back();
  if (points.size() > 1) {
    const CurvePoint& before = points[points.size() - 2];
    if (last.ms > before.ms && last.bytes > before.bytes) {
      return (last.ms - before.ms) / (last.bytes - before.bytes);
    }
  }
  return last.ms / last.bytes;
}

double curve_ms(const PlannedExchange& exchange, const Medium& medium, double ranks) {
  const double measured_ranks =
      medium.curve->ranks > 0 ? static_cast<double>(medium.curve->ranks) : ranks;
  return time_ms(*medium.curve, exchange.bytes) * bus_factor(exchange.collective, ranks) /
         bus_factor(Collective::AllReduce, measured_ranks);
}

// Over several NICs side by side, each of which carries its part.
Hop hop_of(const Wire& wire, double bytes, double nics) {
  return {.alpha_ms = wire.alpha_ms, .bytes_per_ms = nics * bytes_per_ms(wire, bytes / nics)};
}

// Gloo's one ring passes all ranks, and from host to host by one NIC: its slowest link.
const Wire& gloo_wire(const Medium& medium, const Ranks& part) {
  const bool is_inside =
      medium.inside &&
      (part.hosts() <= 1 || (part.each() > 1 && medium.inside->line_mbps < medium.wire.rate_mbps));
  return is_inside ? *medium.inside : medium.wire;
}

// What a library reaches by itself was measured with its round trips on a local network, so the
// slower of both holds.
double gloo_ms(double bytes, double ranks, const Wire& wire) {
  // Credits wait for each other, so at most two segments are in the window.
  const double in_flight_bytes = 2 * gloo_segments(bytes, ranks).bytes;
  const double by_library = gloo_ring_ms(bytes, ranks, 0, bytes_per_ms(wire, in_flight_bytes));
  const double by_link =
      gloo_ring_ms(bytes, ranks, wire.rtt_ms, bytes_per_ms(without_library(wire), in_flight_bytes));
  // What hops cost beyond the round trip passes beside the data, but for a phase's first pair.
  const double hops_ms = ranks > 1 ? 2 * (2 * wire.alpha_ms - wire.rtt_ms) : 0;
  return hops_ms + std::max(by_library, by_link);
}

}  // namespace

GlooSegments gloo_segments(double tensor_bytes, double ranks) {
  const double needed = std::max(std::ceil(tensor_bytes / kMaxSegmentBytes), 2 * ranks);
  const double count = std::ceil(needed / ranks) * ranks;  // as many for each rank
  return {.bytes = tensor_bytes / count, .count = count - count / ranks};
}

double gloo_ring_ms(double tensor_bytes, double ranks, double rtt_ms, double bytes_per_ms) {
  if (ranks <= 1) return 0;
  const GlooSegments segments = gloo_segments(tensor_bytes, ranks);
  const double serial_ms = segments.bytes / bytes_per_ms;
  return 2 * (std::ceil(segments.count / 2) * rtt_ms + segments.count * serial_ms);
}

double gloo_credit_mbps(double tensor_bytes, double ranks, double rtt_ms) {
  return 2 * std::min(kMaxSegmentBytes, tensor_bytes / (2 * ranks)) * 8 / rtt_ms / 1000;
}

Result<Curve> parse_curve(std::string_view text, std::string_view name) {
  const auto bad = [&](std::string_view why) {
    return fail(ErrorKind::Malformed, "--curve", name, why,
                "give what 'chokepoint probe collective --json' printed");
  };
  const auto document = documents::read_partial_text<documents::Collective>(text);
  if (!document) {
    return bad(fmt::format("{}: {}", document.error().subject, document.error().reason));
  }
  if (!document->collective.empty() && document->collective != "all-reduce") {
    return bad("measured " + document->collective + ", not all-reduce");
  }
  Curve curve{
      .backend = document->backend, .ranks = document->ranks, .points = points_of(document->sizes)};
  if (document->alpha_us.value_or(0) > 0) {
    curve.alpha_ms = *document->alpha_us / 1000;
  }
  if (document->beta_mbps.value_or(0) > 0) {
    curve.beta_mbps = document->beta_mbps;
  }
  if (curve.points.empty() && !curve.beta_mbps) {
    return bad("has neither sizes with times nor beta_mbps");
  }
  if (curve.ranks == 1) {
    return bad("was measured by one rank, which exchanges nothing");
  }
  const bool is_too_fast = std::ranges::any_of(curve.points, [](const CurvePoint& point) {
    return point.bytes * 8 / point.ms / 1000 > kFasterThanAnyMbps;
  });
  if (is_too_fast) {
    return bad("has a size that passed faster than any link: time_us are microseconds");
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
    const double alpha_ms = latency_ms(curve);
    return alpha_ms + (above->ms - alpha_ms) * bytes / above->bytes;
  }
  const CurvePoint& below = *(above - 1);
  if (above == points.end()) {
    return below.ms + (bytes - below.bytes) * last_ms_per_byte(points);
  }
  return below.ms + (above->ms - below.ms) * (bytes - below.bytes) / (above->bytes - below.bytes);
}

Result<std::vector<std::string>> judge_curve(const Curve& curve, double least_bytes,
                                             double most_bytes) {
  std::vector<std::string> lines;
  if (curve.points.empty()) return lines;
  const double least = curve.points.front().bytes;
  const double most = curve.points.back().bytes;
  if (most_bytes > kMostTimesLarger * most) {
    return fail(ErrorKind::Usage, "", "--curve",
                fmt::format("its largest size is {}, and the job exchanges {} at once",
                            math::format_bytes(most), math::format_bytes(most_bytes)),
                "measure larger sizes: chokepoint probe collective --bytes 1M,1G --json");
  }
  if (most_bytes > most) {
    lines.push_back(fmt::format("sizes above {}, the largest of --curve, go on at its bandwidth",
                                math::format_bytes(most)));
  }
  if (least_bytes < least) {
    const bool has_latency = curve.alpha_ms || curve.points.size() > 1;
    lines.push_back(
        has_latency
            ? fmt::format("sizes below {}, the smallest of --curve, take {} and its bandwidth",
                          math::format_bytes(least), math::format_ms(latency_ms(curve)))
            : fmt::format("--curve has one size, {}: smaller ones are taken at its bandwidth, "
                          "without a latency; measure several to know it",
                          math::format_bytes(least)));
  }
  return lines;
}

double exchange_ms(const PlannedExchange& exchange, const Medium& medium) {
  const Ranks part = taking_part(exchange, medium.ranks);
  if (part.count <= 1) return 0;
  if (medium.curve != nullptr) {
    return curve_ms(exchange, medium, part.count);
  }
  if (medium.backend == "gloo" && exchange.collective == Collective::AllReduce) {
    return gloo_ms(exchange.bytes, part.count, gloo_wire(medium, part));
  }
  const double sent_bytes = bus_factor(exchange.collective, part.count) * exchange.bytes;
  Tiers tiers{.ranks = part, .between = hop_of(medium.wire, sent_bytes, part.nics)};
  if (medium.inside) tiers.inside = hop_of(*medium.inside, sent_bytes, 1);
  return exchange_ms(exchange.collective, medium.algorithm, exchange.bytes, tiers);
}

double calls_ms(const CallProfile& calls, double compute_ms, const Medium& medium) {
  const double workers = medium.ranks.count - 1;
  if (workers < 1) return compute_ms;
  const auto wire_ms = [&](const Wire& wire, double bytes) {
    return bytes > 0 ? workers * bytes / bytes_per_ms(wire, bytes) : 0;
  };
  const double there_ms = wire_ms(medium.wire, calls.request_bytes);
  const double back_ms = wire_ms(medium.back, calls.answer_bytes);
  const double each_ms = compute_ms / calls.calls;
  const double empty_ms = calls.empty_ms.value_or(medium.wire.alpha_ms + medium.back.alpha_ms);
  const double one_ms = empty_ms + there_ms + each_ms + back_ms;
  const double pace_ms = std::max({there_ms, each_ms, back_ms, one_ms / calls.at_once});
  return one_ms + (calls.calls - 1) * pace_ms;
}

}  // namespace chokepoint::analysis
