#include "capture/commands/capture_document.h"

#include <algorithm>

#include "base/sys/clock.h"
#include "capture/commands/flow_body.h"
#include "capture/commands/streamed_document.h"
#include "capture/commands/units.h"
#include "capture/packet/text.h"

namespace chokepoint::capture {
namespace {

using cli::Json;

Json sums_body(const Findings& findings) {
  const observer::Progress& progress = findings.progress;
  return {
      {"source", findings.source},
      {"packets", findings.volume.packets},
      {"bytes", findings.volume.bytes},
      {"dropped",
       {{"kernel", progress.dropped_by_kernel}, {"interface", progress.dropped_by_interface}}},
      {"duration_s", progress.seconds()},
      {"first_packet_at", progress.frames == 0 ? Json() : Json(sys::rfc3339(progress.first_ns))},
      {"frames", progress.frames},
      {"frame_bytes", progress.frame_bytes},
      {"payload_bytes", findings.volume.payload_bytes},
      {"retransmitted_packets", findings.volume.retransmitted_packets},
      {"interrupted", findings.is_interrupted}};
}

Json count_body(const observer::Count& count) {
  return {{"packets", count.packets}, {"bytes", count.bytes}};
}

Json others_body(const observer::Others& others) {
  return {{"other_ip", count_body(others.other_ip)},
          {"not_ip", count_body(others.not_ip)},
          {"malformed", count_body(others.malformed)}};
}

Json remainder_body(const flow::Remainder& remainder) {
  return {{"flows", remainder.flows},
          {"packets", remainder.packets},
          {"bytes", remainder.bytes},
          {"payload_bytes", remainder.payload_bytes},
          {"retransmitted_packets", remainder.retransmitted_packets},
          {"retransmitted_bytes", remainder.retransmitted_bytes}};
}

Json queue_pair_body(const roce::QueuePairFacts& facts, std::int64_t first_ns) {
  const packet::Ends& ends = facts.ends;
  return {{"source", packet::text_of(ends.source, ends.is_ipv6)},
          {"destination", packet::text_of(ends.destination, ends.is_ipv6)},
          {"queue_pair", facts.queue_pair},
          {"start_s", seconds_of(facts.first_ns - first_ns)},
          {"end_s", seconds_of(facts.last_ns - first_ns)},
          {"packets", facts.packets},
          {"bytes", facts.bytes},
          {"payload_bytes", facts.payload_bytes},
          {"messages", facts.messages},
          {"read_requests", facts.read_requests},
          {"atomics", facts.atomics},
          {"acknowledgements", facts.acknowledgements},
          {"missing_packets", facts.missing_packets},
          {"retransmitted_packets", facts.retransmitted_packets},
          {"retransmitted_bytes", facts.retransmitted_bytes},
          {"sequence_naks", facts.sequence_naks},
          {"other_naks", facts.other_naks},
          {"receiver_not_ready", facts.receiver_not_ready},
          {"congestion_notifications", facts.congestion_notifications},
          {"congestion_marks", facts.congestion_marks}};
}

// Milliseconds, as everywhere in the documents.
Json duration_body(const math::Histogram& nanoseconds) {
  math::Distribution values = nanoseconds.distribution();
  for (double* value : {&values.min, &values.median, &values.p99, &values.max, &values.mean}) {
    *value /= kNsPerMs;
  }
  return distribution_body(values);
}

Json gloo_body(const Findings& findings) {
  Json collectives = Json::array();
  for (const observer::CollectiveSum* sum : findings.collectives) {
    collectives.push_back({{"kind", observer::kind_text(sum->kind)},
                           {"count", sum->count},
                           {"sent_bytes", sum->sent_bytes},
                           {"received_bytes", sum->received_bytes},
                           {"duration_ms", duration_body(sum->duration_ns)}});
  }
  return {{"connections", findings.gloo_connections},
          {"messages", findings.gloo_messages},
          {"collectives", collectives}};
}

Json drops_body(const Findings& findings) {
  Json list = Json::array();
  for (const source::Drop& drop : findings.drops) {
    list.push_back({{"time_s", seconds_of(drop.time_ns - findings.progress.first_ns)},
                    {"interface_name", findings.interface_name(drop.interface)},
                    {"kernel", drop.by_kernel},
                    {"interface", drop.by_interface}});
  }
  return list;
}

Json interfaces_body(const Findings& findings) {
  Json list = Json::array();
  for (const source::Interface& each : findings.interfaces) {
    list.push_back(
        {{"name", each.name},
         {"link_type", static_cast<int>(each.link_type)},
         {"snapshot_bytes", each.snapshot_bytes == 0 ? Json() : Json(each.snapshot_bytes)},
         {"mtu_bytes", each.mtu == 0 ? Json() : Json(each.mtu)}});
  }
  return list;
}

void print_flows(StreamedDocument& document, const Findings& findings,
                 const observer::Observer& observer, const DocumentOptions& options) {
  const std::int64_t first_ns = findings.progress.first_ns;
  const auto is_shown = [&](std::size_t analyser, std::uint32_t slot) {
    return std::ranges::any_of(findings.top, [&](const RankedFlow& flow) {
      return flow.analyser == analyser && flow.slot == slot;
    });
  };
  document.begin_list("flows");
  for (std::size_t i = 0; i < observer.analysers().size(); ++i) {
    const flow::Engine& engine = observer.analysers()[i]->engine();
    engine.visit([&](std::uint32_t slot, const flow::FlowFacts& facts) {
      Json body = flow_body(facts, findings.interface_name(facts.interface), first_ns);
      if (options.series && is_shown(i, slot)) {
        body["a_to_b"]["series"] = series_body(engine.course(slot, 0), first_ns);
        body["b_to_a"]["series"] = series_body(engine.course(slot, 1), first_ns);
      }
      document.item(body);
    });
  }
  document.end_list();
}

}  // namespace

void print_document(const cli::Context& context, const Json& head, const Findings& findings,
                    const observer::Observer& observer, const DocumentOptions& options) {
  StreamedDocument document(context.out);
  document.add_all(head);
  document.add_all(sums_body(findings));
  print_flows(document, findings, observer, options);
  document.add("remainder", remainder_body(findings.remainder));
  document.add("other", others_body(findings.others));
  document.add("gloo", gloo_body(findings));
  document.begin_list("roce");
  for (const roce::QueuePairFacts& facts : findings.queue_pairs) {
    document.item(queue_pair_body(facts, findings.progress.first_ns));
  }
  document.end_list();
  document.add("drops", drops_body(findings));
  document.add("interfaces", interfaces_body(findings));
  document.add("remarks", findings.remarks);
}

}  // namespace chokepoint::capture
