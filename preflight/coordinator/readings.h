// The figures of agents' documents: each reader fills its part of what was measured, or returns
// that the document is malformed and fills nothing. Pure functions.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/control/message.h"
#include "base/documents/document.h"
#include "base/json/codec.h"
#include "base/sys/error.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight::coordinator {

// chokepoint.probe.tcp/1 of one direction.
Result<> read_tcp(const control::Json& document, PathResult& path);
// The same, with nothing else on: its throughput alone.
Result<> read_alone(const control::Json& document, PathResult& path);
// chokepoint.probe.tcp/1 of both directions at once, as one of many pairs.
Result<> read_together(const control::Json& document, PathResult& sent, PathResult& received);

// chokepoint.probe.udp/1 of both directions; asked by pair.a.
Result<> read_loss(const control::Json& document, PairResult& pair);
// From the same: b's monotonic clock less a's, which means nothing by itself: each counts from when
// its host was started.
std::optional<double> monotonic_offset_ms(const control::Json& document);
// chokepoint.probe.latency/1
Result<> read_latency(const control::Json& document, PairResult& pair);
// chokepoint.probe.path/1, asked by pair.a.
Result<> read_path(const control::Json& document, PairResult& pair);

// chokepoint.probe.paths/1, by UDP or TCP: adds to the bundle, whose two hosts are set. The verdict
// is that of the first document.
Result<> read_flows(const control::Json& document, BundleResult& bundle);

// chokepoint.rdma/1
Result<> read_rdma_bandwidth(const control::Json& document, PathResult& path);
Result<> read_rdma_latency(const control::Json& document, PairResult& pair);

// chokepoint.collective/1
Result<> read_collective(const control::Json& document, CollectiveResult& result);

// chokepoint.doctor/1
Result<> read_doctor(const control::Json& document, HostResult& host);
// chokepoint.names/1, in the order in which `asked` was.
Result<> read_names(const control::Json& document, const std::vector<HostIndex>& asked,
                    HostResult& host);

// How the documents of other commands are read: an agent may be broken or hostile, and then its
// whole document is malformed. What is absent or null was not measured. Pure.

inline constexpr const char* kNextStep = "is the agent there this program's?";

inline Error malformed(std::string_view schema, std::string_view wanted) {
  return {.kind = ErrorKind::Malformed,
          .operation = "read answer",
          .subject = std::string(schema),
          .reason = fmt::format("wanted {}", wanted),
          .next_step = kNextStep};
}

template <documents::Document T>
Result<T> read(const control::Json& document) {
  Result<T> parsed = documents::read<T>(document);
  if (!parsed) {
    parsed.error().operation = "read answer";
    parsed.error().next_step = kNextStep;
  }
  return parsed;
}

template <class Document>
Result<Document> read(const control::Json& document, std::string_view schema) {
  if (!document.is_object() || !document.contains("schema") || document["schema"] != schema) {
    return fail(malformed("document", schema));
  }
  Result<Document> parsed = json::from_json<Document>(document, schema);
  if (!parsed) {
    parsed.error().operation = "read answer";
    parsed.error().next_step = kNextStep;
  }
  return parsed;
}

template <class Number>
Figure figure(const std::optional<Number>& number) {
  return number ? Figure(static_cast<float>(*number)) : std::nullopt;
}

template <class Part>
Part or_empty(const std::optional<Part>& part) {
  return part.value_or(Part{});
}

}  // namespace chokepoint::preflight::coordinator
