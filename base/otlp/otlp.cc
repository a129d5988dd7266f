#include "base/otlp/otlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"

namespace chokepoint::otlp {
namespace {

using json::Json;

constexpr const char* kScope = "chokepoint";
constexpr int kCumulative = 2;    // AggregationTemporality
constexpr int kInternalSpan = 1;  // SpanKind
constexpr std::uint16_t kDefaultPort = 4318;
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 10;

// 64-bit numbers are texts in protobuf's JSON.
std::string number_text(std::int64_t value) { return fmt::format("{}", value); }
std::string time_text(std::int64_t ns) { return number_text(std::max<std::int64_t>(ns, 0)); }

Json value_json(const Value& value) {
  Json json = Json::object();
  if (const auto* text = std::get_if<std::string>(&value)) {
    json["stringValue"] = *text;
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    json["intValue"] = number_text(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    json["doubleValue"] = std::isfinite(*real) ? *real : 0.0;
  } else {
    json["boolValue"] = std::get<bool>(value);
  }
  return json;
}

Json attributes_json(const Attributes& attributes) {
  Json list = Json::array();
  for (const auto& [key, value] : attributes) {
    Json attribute = Json::object();
    attribute["key"] = key;
    attribute["value"] = value_json(value);
    list.push_back(std::move(attribute));
  }
  return list;
}

// One resource with one scope.
Json document(const char* resources, const char* scopes, const char* items,
              const Resource& resource, const Json& list) {
  Json scope = Json::object();
  scope["scope"]["name"] = kScope;
  scope["scope"]["version"] = resource.program_version;
  scope[items] = list;
  Json one = Json::object();
  one["resource"]["attributes"] = attributes_json(resource.attributes);
  one[scopes] = Json::array();
  one[scopes].push_back(std::move(scope));
  Json whole = Json::object();
  whole[resources] = Json::array();
  whole[resources].push_back(std::move(one));
  return whole;
}

Json point_json(const Point& point) {
  Json json = Json::object();
  json["attributes"] = attributes_json(point.attributes);
  if (point.is_counter) {
    json["startTimeUnixNano"] = time_text(point.start_ns);
  }
  json["timeUnixNano"] = time_text(point.time_ns);
  json["asDouble"] = point.value;
  return json;
}

// Texts come from records and other programs: what is no UTF-8 is replaced.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// FNV-1a of 64 bits: no secret, only the same for the same text.
std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t kPrime = 1'099'511'628'211U;
  std::uint64_t hash = 14'695'981'039'346'656'037U ^ seed;
  for (const char letter : text) {
    hash = (hash ^ static_cast<std::uint8_t>(letter)) * kPrime;
  }
  return hash == 0 ? 1 : hash;
}

Json span_json(const Span& span) {
  Json json = Json::object();
  json["traceId"] = fmt::format("{:016x}{:016x}", span.trace.high, span.trace.low);
  json["spanId"] = fmt::format("{:016x}", span.id);
  if (span.parent != 0) {
    json["parentSpanId"] = fmt::format("{:016x}", span.parent);
  }
  json["name"] = span.name;
  json["kind"] = kInternalSpan;
  json["startTimeUnixNano"] = time_text(span.start_ns);
  json["endTimeUnixNano"] = time_text(std::max(span.start_ns, span.end_ns));
  json["attributes"] = attributes_json(span.attributes);
  return json;
}

}  // namespace

std::string metrics_json(const Resource& resource, const std::vector<Point>& points) {
  Json metrics = Json::array();
  std::map<std::string, std::size_t> places;
  for (const Point& point : points) {
    if (!std::isfinite(point.value)) {
      continue;
    }
    const auto [place, is_new] = places.emplace(point.name, metrics.size());
    const char* kind = point.is_counter ? "sum" : "gauge";
    if (is_new) {
      Json metric = Json::object();
      metric["name"] = point.name;
      metric["description"] = point.description;
      metric["unit"] = point.unit;
      metric[kind]["dataPoints"] = Json::array();
      if (point.is_counter) {
        metric[kind]["aggregationTemporality"] = kCumulative;
        metric[kind]["isMonotonic"] = true;
      }
      metrics.push_back(std::move(metric));
    }
    metrics[place->second][kind]["dataPoints"].push_back(point_json(point));
  }
  return line_of(document("resourceMetrics", "scopeMetrics", "metrics", resource, metrics));
}

std::string traces_json(const Resource& resource, const std::vector<Span>& spans) {
  Json list = Json::array();
  for (const Span& span : spans) {
    list.push_back(span_json(span));
  }
  return line_of(document("resourceSpans", "scopeSpans", "spans", resource, list));
}

const char* unit_in_name(std::string_view metric) {
  constexpr std::string_view kTotal = "_total";
  metric.remove_suffix(metric.ends_with(kTotal) ? kTotal.size() : 0);
  return metric.ends_with("seconds") ? "s" : metric.ends_with("bytes") ? "By" : "1";
}

Id trace_of(std::string_view text) { return {.high = hash_of(text, 1), .low = hash_of(text, 2)}; }

std::uint64_t span_of(std::string_view text) { return hash_of(text, 3); }

Result<Collector> Collector::of(std::string_view url) {
  TRY(net::HttpPlace place, net::parse_http(url, kDefaultPort));
  while (place.path.ends_with('/')) {
    place.path.pop_back();
  }
  return Collector(std::move(place));
}

Result<> Collector::send_metrics(std::string_view document, const net::Patience& patience) const {
  return send("/v1/metrics", document, patience);
}

Result<> Collector::send_traces(std::string_view document, const net::Patience& patience) const {
  return send("/v1/traces", document, patience);
}

Result<> Collector::send(const char* path, std::string_view document,
                         const net::Patience& patience) const {
  constexpr int kOk = 200;
  constexpr int kNoMoreOk = 300;
  constexpr std::size_t kShown = 200;
  net::HttpPlace place = place_;
  place.path += path;
  TRY(const net::HttpAnswer answer,
      net::exchange(place, {.method = "POST", .content_type = "application/json", .body = document},
                    kMostAnswerBytes, patience));
  if (answer.status < kOk || answer.status >= kNoMoreOk) {
    return fail(ErrorKind::Refused, "", place.authority() + place.path,
                fmt::format("answered {}: {}", answer.status, answer.body.substr(0, kShown)),
                "give the address of a collector's OTLP receiver over HTTP, as http://HOST:4318");
  }
  return {};
}

}  // namespace chokepoint::otlp
