#include "base/otlp/otlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>

#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/cli/text.h"
#include "base/json/codec.h"

namespace chokepoint::otlp {
namespace {

using json::Json;

constexpr const char* kScope = "chokepoint";
constexpr std::int32_t kCumulative = 2;    // AggregationTemporality
constexpr std::int32_t kInternalSpan = 1;  // SpanKind
constexpr std::uint16_t kDefaultPort = 4318;
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 10;
constexpr std::size_t kShown = 200;  // of what a collector answers, in bytes

// A field of a message: its name in JSON and its number in protobuf.
struct Field {
  const char* name;
  std::uint32_t number;
};

// ExportMetricsServiceRequest and ExportTraceServiceRequest are alike but for the names of their
// parts.
struct RequestFields {
  Field resources;
  Field scopes;
  Field items;
};
constexpr RequestFields kMetricsRequest{
    {"resourceMetrics", 1}, {"scopeMetrics", 2}, {"metrics", 2}};
constexpr RequestFields kTracesRequest{{"resourceSpans", 1}, {"scopeSpans", 2}, {"spans", 2}};

constexpr Field kResource{"resource", 1};  // of ResourceMetrics and ResourceSpans
constexpr Field kResourceAttributes{"attributes", 1};
constexpr Field kScopeOfItems{"scope", 1};  // of ScopeMetrics and ScopeSpans
constexpr Field kScopeName{"name", 1};
constexpr Field kScopeVersion{"version", 2};

constexpr Field kAttributeKey{"key", 1};  // of KeyValue
constexpr Field kAttributeValue{"value", 2};
constexpr Field kStringValue{"stringValue", 1};  // of AnyValue
constexpr Field kBoolValue{"boolValue", 2};
constexpr Field kIntValue{"intValue", 3};
constexpr Field kDoubleValue{"doubleValue", 4};

constexpr Field kMetricName{"name", 1};
constexpr Field kMetricDescription{"description", 2};
constexpr Field kMetricUnit{"unit", 3};
constexpr Field kGauge{"gauge", 5};
constexpr Field kSum{"sum", 7};
constexpr Field kDataPoints{"dataPoints", 1};  // of Gauge and Sum
constexpr Field kTemporality{"aggregationTemporality", 2};
constexpr Field kIsMonotonic{"isMonotonic", 3};
constexpr Field kPointStart{"startTimeUnixNano", 2};  // of NumberDataPoint
constexpr Field kPointTime{"timeUnixNano", 3};
constexpr Field kPointDouble{"asDouble", 4};
constexpr Field kPointAttributes{"attributes", 7};

constexpr Field kSpanTrace{"traceId", 1};
constexpr Field kSpanId{"spanId", 2};
constexpr Field kSpanParent{"parentSpanId", 4};
constexpr Field kSpanName{"name", 5};
constexpr Field kSpanKind{"kind", 6};
constexpr Field kSpanStart{"startTimeUnixNano", 7};
constexpr Field kSpanEnd{"endTimeUnixNano", 8};
constexpr Field kSpanAttributes{"attributes", 9};

// Of ExportMetricsServiceResponse and ExportTraceServiceResponse, and of their partial success.
constexpr std::uint32_t kPartialSuccess = 1;
constexpr std::uint32_t kRejected = 1;
constexpr std::uint32_t kReason = 2;

// The two forms of a message, with the same functions, so that one description below serves both.

// 64-bit numbers are texts in protobuf's JSON, identifiers hexadecimal in OTLP's.
class JsonMessage {
 public:
  explicit JsonMessage(Json& json) : json_(json) { json_ = Json::object(); }

  void text(const Field& field, std::string_view value) { json_[field.name] = value; }
  void whole(const Field& field, std::int64_t value) { json_[field.name] = number_text(value); }
  void time(const Field& field, std::int64_t ns) { json_[field.name] = number_text(ns); }
  void real(const Field& field, double value) { json_[field.name] = value; }
  void truth(const Field& field, bool value) { json_[field.name] = value; }
  void code(const Field& field, std::int32_t value) { json_[field.name] = value; }
  void id(const Field& field, std::initializer_list<std::uint64_t> words) {
    std::string text;
    for (const std::uint64_t word : words) {
      text += fmt::format("{:016x}", word);
    }
    json_[field.name] = std::move(text);
  }
  template <class F>
  void message(const Field& field, F&& put) {
    put(JsonMessage(json_[field.name]));
  }
  // One more of a repeated field.
  template <class F>
  void item(const Field& field, F&& put) {
    put(JsonMessage(json_[field.name].emplace_back()));
  }

 private:
  static std::string number_text(std::int64_t value) { return fmt::format("{}", value); }

  Json& json_;
};

class ProtobufMessage {
 public:
  explicit ProtobufMessage(std::string& bytes) : writer_(bytes) {}
  ProtobufMessage(protozero::pbf_writer& parent, const Field& field)
      : writer_(parent, field.number) {}

  // Collectors refuse a document with a string that is no UTF-8.
  void text(const Field& field, std::string_view value) {
    writer_.add_string(field.number, cli::valid_utf8(value));
  }
  void whole(const Field& field, std::int64_t value) { writer_.add_int64(field.number, value); }
  void time(const Field& field, std::int64_t ns) {
    writer_.add_fixed64(field.number, static_cast<std::uint64_t>(ns));
  }
  void real(const Field& field, double value) { writer_.add_double(field.number, value); }
  void truth(const Field& field, bool value) { writer_.add_bool(field.number, value); }
  void code(const Field& field, std::int32_t value) { writer_.add_enum(field.number, value); }
  void id(const Field& field, std::initializer_list<std::uint64_t> words) {
    constexpr int kBitsOfByte = 8;
    std::string bytes;
    for (const std::uint64_t word : words) {
      for (int shift = 64 - kBitsOfByte; shift >= 0; shift -= kBitsOfByte) {
        bytes += static_cast<char>(word >> shift);
      }
    }
    writer_.add_bytes(field.number, bytes);
  }
  template <class F>
  void message(const Field& field, F&& put) {
    put(ProtobufMessage(writer_, field));
  }
  template <class F>
  void item(const Field& field, F&& put) {
    message(field, std::forward<F>(put));
  }

 private:
  protozero::pbf_writer writer_;
};

// A document of put(message) in that form.
template <class F>
std::string document_of(Form form, F&& put) {
  if (form == Form::Protobuf) {
    std::string bytes;
    put(ProtobufMessage(bytes));
    return bytes;
  }
  Json json;
  put(JsonMessage(json));
  // Texts come from records and other programs: what is no UTF-8 is replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::int64_t since_1970(std::int64_t ns) { return std::max<std::int64_t>(ns, 0); }

template <class M>
void put_value(M&& message, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    message.text(kStringValue, *text);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    message.whole(kIntValue, *whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    message.real(kDoubleValue, std::isfinite(*real) ? *real : 0.0);
  } else {
    message.truth(kBoolValue, std::get<bool>(value));
  }
}

template <class M>
void put_attributes(M& message, const Field& field, const Attributes& attributes) {
  for (const auto& [key, value] : attributes) {
    message.item(field, [&](auto&& attribute) {
      attribute.text(kAttributeKey, key);
      attribute.message(kAttributeValue, [&](auto&& any) { put_value(any, value); });
    });
  }
}

// One resource with one scope, in which put_items(scope, field) puts the metrics or spans.
template <class F>
std::string request_of(Form form, const RequestFields& fields, const Resource& resource,
                       F&& put_items) {
  return document_of(form, [&](auto&& request) {
    request.item(fields.resources, [&](auto&& one) {
      one.message(kResource, [&](auto&& its) {
        put_attributes(its, kResourceAttributes, resource.attributes);
      });
      one.item(fields.scopes, [&](auto&& scope) {
        scope.message(kScopeOfItems, [&](auto&& its) {
          its.text(kScopeName, kScope);
          its.text(kScopeVersion, resource.program_version);
        });
        put_items(scope, fields.items);
      });
    });
  });
}

template <class M>
void put_point(M&& message, const Point& point) {
  if (point.is_counter) {
    message.time(kPointStart, since_1970(point.start_ns));
  }
  message.time(kPointTime, since_1970(point.time_ns));
  message.real(kPointDouble, point.value);
  put_attributes(message, kPointAttributes, point.attributes);
}

using PointsOfMetric = std::vector<const Point*>;

template <class M>
void put_metric(M&& message, const PointsOfMetric& points) {
  const Point& first = *points.front();
  message.text(kMetricName, first.name);
  if (!first.description.empty()) {
    message.text(kMetricDescription, first.description);
  }
  message.text(kMetricUnit, first.unit);
  message.message(first.is_counter ? kSum : kGauge, [&](auto&& data) {
    for (const Point* point : points) {
      data.item(kDataPoints, [&](auto&& one) { put_point(one, *point); });
    }
    if (first.is_counter) {
      data.code(kTemporality, kCumulative);
      data.truth(kIsMonotonic, true);
    }
  });
}

// In the order in which their first points stand; what is no number is left out.
std::vector<PointsOfMetric> metrics_of(const std::vector<Point>& points) {
  std::vector<PointsOfMetric> metrics;
  std::map<std::string_view, std::size_t> places;
  for (const Point& point : points) {
    if (!std::isfinite(point.value)) {
      continue;
    }
    const auto [place, is_new] = places.emplace(point.name, metrics.size());
    if (is_new) {
      metrics.emplace_back();
    }
    metrics[place->second].push_back(&point);
  }
  return metrics;
}

template <class M>
void put_span(M&& message, const Span& span) {
  message.id(kSpanTrace, {span.trace.high, span.trace.low});
  message.id(kSpanId, {span.id});
  if (span.parent != 0) {
    message.id(kSpanParent, {span.parent});
  }
  message.text(kSpanName, span.name);
  message.code(kSpanKind, kInternalSpan);
  message.time(kSpanStart, since_1970(span.start_ns));
  message.time(kSpanEnd, since_1970(std::max(span.start_ns, span.end_ns)));
  put_attributes(message, kSpanAttributes, span.attributes);
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

const char* path_of(Signal signal) {
  return signal == Signal::Metrics ? "/v1/metrics" : "/v1/traces";
}

}  // namespace

std::string metrics_document(const Resource& resource, const std::vector<Point>& points,
                             Form form) {
  return request_of(form, kMetricsRequest, resource, [&](auto&& scope, const Field& field) {
    for (const PointsOfMetric& metric : metrics_of(points)) {
      scope.item(field, [&](auto&& one) { put_metric(one, metric); });
    }
  });
}

std::string traces_document(const Resource& resource, const std::vector<Span>& spans, Form form) {
  return request_of(form, kTracesRequest, resource, [&](auto&& scope, const Field& field) {
    for (const Span& span : spans) {
      scope.item(field, [&](auto&& one) { put_span(one, span); });
    }
  });
}

const char* unit_in_name(std::string_view metric) {
  constexpr std::string_view kTotal = "_total";
  metric.remove_suffix(metric.ends_with(kTotal) ? kTotal.size() : 0);
  return metric.ends_with("seconds") ? "s" : metric.ends_with("bytes") ? "By" : "1";
}

std::vector<Point> points_of(const metrics::MetricText& metrics, std::int64_t start_ns,
                             std::int64_t time_ns) {
  std::vector<Point> points;
  for (const metrics::MetricText::Family& family : metrics.families()) {
    for (const metrics::MetricText::Sample& sample : family.samples) {
      points.push_back({.name = family.name,
                        .description = family.help,
                        .unit = unit_in_name(family.name),
                        .is_counter = family.is_counter,
                        .start_ns = start_ns,
                        .time_ns = time_ns,
                        .value = sample.value,
                        .attributes = {sample.labels.begin(), sample.labels.end()}});
    }
  }
  return points;
}

std::string run_name(const std::filesystem::path& folder) {
  std::error_code failed;  // where this process's own folder is gone
  const std::filesystem::path whole = std::filesystem::absolute(folder, failed).lexically_normal();
  return whole.has_filename() ? whole.filename() : whole.parent_path().filename();
}

Id trace_of(std::string_view text) { return {.high = hash_of(text, 1), .low = hash_of(text, 2)}; }

std::uint64_t span_of(std::string_view text) { return hash_of(text, 3); }

std::string left_out(std::string_view answer) {
  using protozero::pbf_wire_type;
  using protozero::tag_and_type;
  std::int64_t rejected = 0;
  std::string reason;
  try {
    protozero::pbf_reader response(answer.data(), answer.size());
    while (response.next(kPartialSuccess, pbf_wire_type::length_delimited)) {
      protozero::pbf_reader partial = response.get_message();
      while (partial.next()) {
        switch (partial.tag_and_type()) {
          case tag_and_type(kRejected, pbf_wire_type::varint):
            rejected = partial.get_int64();
            break;
          case tag_and_type(kReason, pbf_wire_type::length_delimited):
            reason = partial.get_string();
            break;
          default:
            partial.skip();
        }
      }
    }
  } catch (const protozero::exception&) {
    return "";  // an answer of another form, after a status of success
  }
  return rejected <= 0 ? "" : fmt::format("left out {}: {}", rejected, reason.substr(0, kShown));
}

Result<Collector> Collector::of(std::string_view url) {
  TRY(net::HttpPlace place, net::parse_http(url, kDefaultPort));
  while (place.path.ends_with('/')) {
    place.path.pop_back();
  }
  std::optional<Signal> only;
  for (const Signal signal : {Signal::Metrics, Signal::Traces}) {
    const std::string_view path = path_of(signal);
    if (place.path.ends_with(path)) {
      place.path.resize(place.path.size() - path.size());
      only = signal;
      break;
    }
  }
  return Collector(std::move(place), only);
}

Result<> Collector::send(Signal signal, std::string_view document,
                         const net::Deadline& deadline) const {
  constexpr int kOk = 200;
  constexpr int kNoMoreOk = 300;
  net::HttpPlace place = place_;
  place.path += path_of(signal);
  TRY(const net::HttpAnswer answer,
      net::exchange(place,
                    {.method = "POST", .content_type = "application/x-protobuf", .body = document},
                    kMaxAnswerBytes, deadline));
  if (answer.status < kOk || answer.status >= kNoMoreOk) {
    return fail(
        ErrorKind::Refused, "", place.authority() + place.path,
        fmt::format("answered {}: {}", answer.status, answer.body.substr(0, kShown)),
        "give the address of a collector's OTLP receiver over HTTP, as http://HOST:4318; of "
        "what takes figures alone, one that ends with /v1/metrics");
  }
  const std::string rest = left_out(answer.body);
  if (!rest.empty()) {
    return fail(ErrorKind::Refused, "", place.authority() + place.path, rest);
  }
  return {};
}

}  // namespace chokepoint::otlp
