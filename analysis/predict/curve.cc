#include "analysis/predict/curve.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace chokepoint::analysis {
namespace {

using nlohmann::json;

std::optional<double> positive(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number() || found->get<double>() <= 0) {
    return std::nullopt;
  }
  return found->get<double>();
}

// A distribution's median, or a plain number.
std::optional<double> typical_us(const json& size) {
  const auto found = size.find("time_us");
  if (found == size.end()) return std::nullopt;
  return found->is_object() ? positive(*found, "median") : positive(size, "time_us");
}

std::vector<CurvePoint> points_of(const json& document) {
  std::vector<CurvePoint> points;
  const auto sizes = document.find("sizes");
  if (sizes == document.end() || !sizes->is_array()) return points;
  for (const json& size : *sizes) {
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

std::string text(const json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Result<Curve> parse_curve(std::string_view text_of_file, std::string_view name) {
  const json document = json::parse(text_of_file, nullptr, false);
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

}  // namespace chokepoint::analysis
