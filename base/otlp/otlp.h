// OpenTelemetry's protocol (OTLP, opentelemetry-proto 1.x): metrics and spans as documents, as JSON
// for files and as protobuf, the form that every collector takes, over HTTP.
//
//   this host ── POST /v1/metrics, /v1/traces (application/x-protobuf) ──► a collector, port 4318
//             ◄─ 200
//
// Values and functions; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/metrics/metric_text.h"
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

enum class Signal : std::uint8_t { Metrics, Traces };

// Json is one line without its end.
enum class Form : std::uint8_t { Json, Protobuf };

// Points of one name become one metric.
std::string metrics_document(const Resource& resource, const std::vector<Point>& points, Form form);
std::string traces_document(const Resource& resource, const std::vector<Span>& spans, Form form);

// "s" of "chokepoint_step_seconds", "By" of "…_bytes_total", else "1".
const char* unit_in_name(std::string_view metric);

// A point of each sample. Without the common labels: these belong in the resource.
std::vector<Point> points_of(const metrics::MetricText& metrics, std::int64_t start_ns,
                             std::int64_t time_ns);

// A run's folder by its last name, however its path is written: `chokepoint.run` of a live job and
// of its record.
std::string run_name(const std::filesystem::path& folder);

// The same text gives the same identifier, never 0: all nodes of a run write one trace.
Id trace_of(std::string_view text);
std::uint64_t span_of(std::string_view text);

// How many spans a document should have at most.
inline constexpr std::size_t kSpansOfDocument = 512;

// What a collector reports as left out of a document that it took (partial_success); empty:
// nothing. The answer is not trusted.
std::string left_out(std::string_view answer);

class Collector {
 public:
  // "http://127.0.0.1:4318", also with a path before /v1/…; one that ends with /v1/metrics or
  // /v1/traces is of what takes that signal alone.
  static Result<Collector> of(std::string_view url);

  bool takes(Signal signal) const { return !only_ || *only_ == signal; }
  // A document as protobuf, of a signal that it takes. An Error where it was not taken as a whole,
  // with what the collector answered.
  Result<> send(Signal signal, std::string_view document, const net::Deadline& deadline) const;

 private:
  Collector(net::HttpPlace place, std::optional<Signal> only)
      : place_(std::move(place)), only_(only) {}

  net::HttpPlace place_;  // without the signal's path
  std::optional<Signal> only_;
};

}  // namespace chokepoint::otlp
