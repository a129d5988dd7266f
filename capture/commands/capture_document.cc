#include "capture/commands/capture_document.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/cli/output.h"
#include "base/json/codec.h"

namespace chokepoint::capture {
namespace {

using cli::Json;

CapturedDirection captured_direction(const flow::DirectionFacts& facts, bool is_tcp) {
  CapturedDirection direction{facts};
  if (is_tcp) {
    direction.tcp = CapturedTcp{facts};
  }
  return direction;
}

// One direction, bin by bin.
std::vector<flow::Bin> shifted(std::vector<flow::Bin> bins, std::int64_t first_ns) {
  for (flow::Bin& bin : bins) {
    bin.start_ns -= first_ns;
  }
  return bins;
}

// Nullopt of none; else in milliseconds, as everywhere in the documents.
std::optional<math::Distribution> milliseconds_of(const math::Histogram& nanoseconds) {
  math::Distribution values = nanoseconds.distribution();
  for (double* value : {&values.min, &values.median, &values.p99, &values.max, &values.mean}) {
    *value /= math::kNsPerMs;
  }
  return documents::if_measured(values);
}

std::string text_of(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void print_flows(StreamedDocument& document, const Findings& findings,
                 const observer::Observer& observer, const DocumentOptions& options) {
  const std::int64_t first_ns = findings.progress.first_ns;
  const auto is_shown = [&](std::size_t analyser, std::uint32_t slot) {
    return std::ranges::any_of(findings.top, [&](const RankedFlow& flow) {
      return flow.analyser == analyser && flow.slot == slot;
    });
  };
  document.begin_list(Fields<Findings>::kFlows);
  for (std::size_t i = 0; i < observer.analysers().size(); ++i) {
    const flow::Engine& engine = observer.analysers()[i]->engine();
    engine.visit([&](std::uint32_t slot, const flow::FlowFacts& facts) {
      CapturedFlow flow = captured_flow(facts, findings.interface_name(facts.interface), first_ns);
      if (options.series && is_shown(i, slot)) {
        flow.a_to_b.series = shifted(engine.bins(slot, 0), first_ns);
        flow.b_to_a.series = shifted(engine.bins(slot, 1), first_ns);
      }
      document.item(json::to_json(flow));
    });
  }
  document.end_list();
}

}  // namespace

CapturedFlow captured_flow(const flow::FlowFacts& facts, const std::string& interface,
                           std::int64_t first_ns) {
  const packet::Ends& ends = facts.ends;
  const bool is_tcp = facts.kind == packet::Kind::Tcp;
  return {.protocol = facts.kind,
          .a = {.address = packet::text_of(ends.source, ends.is_ipv6), .port = ends.source_port},
          .b = {.address = packet::text_of(ends.destination, ends.is_ipv6),
                .port = ends.destination_port},
          .tunnel = ends.tunnel == 0 ? std::nullopt : std::optional(ends.tunnel),
          .interface = interface,
          .start_s = seconds_of(facts.start_ns - first_ns),
          .end_s = seconds_of(facts.end_ns - first_ns),
          .handshake_seen = is_tcp ? std::optional(facts.handshake_seen) : std::nullopt,
          .closed = is_tcp ? std::optional(facts.is_closed) : std::nullopt,
          .path_rtt_ms = facts.path_rtt_ms,
          .a_to_b = captured_direction(facts.directions[0], is_tcp),
          .b_to_a = captured_direction(facts.directions[1], is_tcp)};
}

CapturedGloo captured_gloo(const Findings& findings) {
  CapturedGloo gloo{.connections = findings.gloo_connections, .messages = findings.gloo_messages};
  for (const observer::CollectiveSum* sum : findings.collectives) {
    gloo.collectives.push_back({.kind = sum->kind,
                                .count = sum->count,
                                .sent_bytes = sum->sent_bytes,
                                .received_bytes = sum->received_bytes,
                                .duration_ms = milliseconds_of(sum->duration_ns)});
  }
  return gloo;
}

std::vector<CapturedDrop> captured_drops(const Findings& findings) {
  std::vector<CapturedDrop> drops;
  for (const source::Drop& drop : findings.drops) {
    drops.push_back({.time_s = seconds_of(drop.time_ns - findings.progress.first_ns),
                     .interface_name = findings.interface_name(drop.interface),
                     .packets = {.kernel = drop.by_kernel, .interface = drop.by_interface}});
  }
  return drops;
}

std::vector<roce::QueuePairFacts> captured_queue_pairs(const Findings& findings) {
  std::vector<roce::QueuePairFacts> queue_pairs = findings.queue_pairs;
  for (roce::QueuePairFacts& facts : queue_pairs) {
    facts.first_ns -= findings.progress.first_ns;
    facts.last_ns -= findings.progress.first_ns;
  }
  return queue_pairs;
}

void StreamedDocument::add(std::string_view name, const Json& value) {
  key(name);
  // Below the top level everything is indented by two more spaces.
  for (const char letter : text_of(value, 2)) {
    out_ << letter;
    if (letter == '\n') {
      out_ << "  ";
    }
  }
}

void StreamedDocument::add_all(const Json& object) {
  for (const auto& [name, value] : object.items()) {
    add(name, value);
  }
}

void StreamedDocument::begin_list(std::string_view name) {
  key(name);
  out_ << '[';
  is_list_empty_ = true;
}

void StreamedDocument::item(const Json& value) {
  out_ << (is_list_empty_ ? "\n    " : ",\n    ") << text_of(value, -1);
  is_list_empty_ = false;
}

void StreamedDocument::end_list() { out_ << (is_list_empty_ ? "]" : "\n  ]"); }

void StreamedDocument::key(std::string_view name) {
  out_ << (is_empty_ ? "\n  " : ",\n  ") << text_of(Json(name), -1) << ": ";
  is_empty_ = false;
}

void print_document(const cli::Context& context, const Json& head, const Findings& findings,
                    const observer::Observer& observer, const DocumentOptions& options) {
  StreamedDocument document(context.out);
  document.add_all(head);
  const Json body = json::to_json(findings);
  for (const auto& [name, value] : body.items()) {
    if (name == Fields<Findings>::kFlows) {
      print_flows(document, findings, observer, options);
    } else {
      document.add(name, value);
    }
  }
}

}  // namespace chokepoint::capture
