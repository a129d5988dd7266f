// OpenTelemetry's protocol in its JSON form (OTLP/JSON, opentelemetry-proto 1.x): metrics and spans
// as documents, and a collector that takes them over HTTP.
//
//   this host ── POST /v1/metrics, /v1/traces (application/json) ──► a collector, port 4318
//             ◄─ 200
//
// Values and functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/net/http.h"
#include "base/sys/error.h"

namespace chokepoint::otlp {

using Value = std::variant<std::string, std::int64_t, double, bool>;
using Attributes = std::vector<std::pair<std::string, Value>>;

// What all of a document is of: the run, the node, the program.
struct Resource {
  Attributes attributes = {};
  std::string program_version = {};
};

struct Point {
  std::string name = {};  // "chokepoint.step.median"
  std::string description = {};
  std::string unit = {};  // of UCUM: "s", "By", "1"
  bool is_counter = false;
  std::int64_t start_ns = 0;  // of a counter, when it was 0; since 1970
  std::int64_t time_ns = 0;
  double value = 0;
  Attributes attributes = {};
};

struct Id {
  std::uint64_t high = 0;  // of a trace alone
  std::uint64_t low = 0;   // 0: none
};

struct Span {
  Id trace = {};
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  // 0: none
  std::string name = {};
  std::int64_t start_ns = 0;  // since 1970
  std::int64_t end_ns = 0;
  Attributes attributes = {};
};

// A line each, without an end of line. Points of one name become one metric.
std::string metrics_json(const Resource& resource, const std::vector<Point>& points);
std::string traces_json(const Resource& resource, const std::vector<Span>& spans);

// "s" of "chokepoint_step_seconds", "By" of "…_bytes_total", else "1".
const char* unit_in_name(std::string_view metric);

// The same text gives the same identifier, never 0: all nodes of a run write one trace.
Id trace_of(std::string_view text);
std::uint64_t span_of(std::string_view text);

// How many spans a document should have at most.
inline constexpr std::size_t kSpansOfDocument = 512;

class Collector {
 public:
  // "http://127.0.0.1:4318", also with a path before /v1/…
  static Result<Collector> of(std::string_view url);

  // An Error where it does not take the document, with what it answered.
  Result<> send_metrics(std::string_view document, const net::Patience& patience) const;
  Result<> send_traces(std::string_view document, const net::Patience& patience) const;

 private:
  explicit Collector(net::HttpPlace place) : place_(std::move(place)) {}
  Result<> send(const char* path, std::string_view document, const net::Patience& patience) const;

  net::HttpPlace place_;
};

}  // namespace chokepoint::otlp
