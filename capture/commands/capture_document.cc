// The chokepoint.capture/1 document.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/output.h"
#include "base/json/codec.h"
#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/sys/clock.h"
#include "capture/commands/findings.h"
#include "capture/flow/facts.h"
#include "capture/flow/series.h"
#include "capture/observer/ends.h"
#include "capture/packet/address_text.h"

namespace chokepoint {
namespace {

double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / math::kNsPerSecond;
}

// Times are shifted to the capture's first packet before they are written: series_body(),
// queue_pair_body().
template <class S>
constexpr auto seconds_field(const char* name, std::int64_t S::* member, const char* text) {
  return computed<S>(name, [member](const S& row) { return seconds_of(row.*member); }, text);
}

// Null if the member has this value.
template <class S, class M>
constexpr auto null_if(M unknown, const char* name, M S::* member, const char* text) {
  return computed<S>(
      name,
      [member, unknown](const S& row) {
        return row.*member == unknown ? std::nullopt : std::optional(row.*member);
      },
      text);
}

constexpr double kUsPerMs = 1e3;

}  // namespace

template <>
struct Fields<capture::observer::Count> {
  using C = capture::observer::Count;
  static constexpr std::tuple kList{field("packets", &C::packets, "packets"),
                                    field("bytes", &C::bytes, "of their frames")};
};

template <>
struct Fields<capture::observer::Others> {
  using O = capture::observer::Others;
  static constexpr std::tuple kList{
      field("other_ip", &O::other_ip,
            "another protocol, a fragment whose first was not seen, or TCP cut before its window"),
      field("not_ip", &O::not_ip, "ARP and the like"),
      field("malformed", &O::malformed,
            "headers that contradict each other, or a packet cut before its ports")};
};

template <>
struct Fields<capture::flow::Remainder> {
  using R = capture::flow::Remainder;
  static constexpr std::tuple kList{
      field("flows", &R::flows, "idle flows that made room for others"),
      field("packets", &R::packets, "their packets"),
      field("bytes", &R::bytes, "on the wire"),
      field("payload_bytes", &R::payload_bytes, "of all packets"),
      field("retransmitted_packets", &R::retransmitted_packets, "of TCP and RoCE"),
      field("retransmitted_bytes", &R::retransmitted_bytes, "payload bytes retransmitted")};
};

template <>
struct Fields<capture::flow::Bin> {
  using B = capture::flow::Bin;
  static constexpr std::tuple kList{
      seconds_field("start_s", &B::start_ns, "since the capture's first packet"),
      seconds_field("width_s", &B::width_ns, "length"),
      field("packets", &B::packets, "segments as the wire carried them"),
      field("bytes", &B::bytes, "on the wire"),
      field("payload_bytes", &B::payload_bytes, "of all packets"),
      field("retransmitted_packets", &B::retransmitted_packets, "of `packets`"),
      field("out_of_order", &B::out_of_order, "packets that were overtaken"),
      field("duplicate_acks", &B::duplicate_acks, "that reported a hole"),
      field("zero_windows", &B::zero_windows, "times this side closed its window"),
      field("window_full", &B::window_full, "times it had filled the peer's window"),
      field("congestion_marks", &B::congestion_marks, "packets with ECN's CE"),
      field("max_in_flight_bytes", &B::max_in_flight_bytes, "sent and not acknowledged"),
      null_if(capture::flow::kNoSample, "min_window_bytes", &B::min_window_bytes,
              "the smallest that this side offered"),
      computed<B>(
          "min_rtt_ms",
          [](const B& bin) {
            return bin.min_rtt_us == capture::flow::kNoSample
                       ? std::nullopt
                       : std::optional(bin.min_rtt_us / kUsPerMs);
          },
          "shortest round trip"),
      computed<B>(
          "mean_rtt_ms",
          [](const B& bin) {
            return bin.rtt_samples == 0 ? std::nullopt
                                        : std::optional(static_cast<double>(bin.rtt_sum_us) /
                                                        kUsPerMs / bin.rtt_samples);
          },
          "mean round trip")};
};

template <>
struct Fields<capture::roce::QueuePairFacts> {
  using Q = capture::roce::QueuePairFacts;
  static constexpr std::tuple kList{
      computed<Q>(
          "source",
          [](const Q& row) { return capture::packet::text_of(row.ends.source, row.ends.is_ipv6); },
          "the sending host"),
      computed<Q>(
          "destination",
          [](const Q& row) {
            return capture::packet::text_of(row.ends.destination, row.ends.is_ipv6);
          },
          "the receiving host"),
      field("queue_pair", &Q::queue_pair, "of the destination"),
      seconds_field("start_s", &Q::first_ns, "first packet, since the capture's first one"),
      seconds_field("end_s", &Q::last_ns, "last packet"),
      field("packets", &Q::packets, "packets"),
      field("bytes", &Q::bytes, "on the wire"),
      field("payload_bytes", &Q::payload_bytes, "of the messages"),
      field("messages", &Q::messages, "that ended"),
      field("read_requests", &Q::read_requests, "RDMA READ"),
      field("atomics", &Q::atomics, "atomic operations"),
      field("acknowledgements", &Q::acknowledgements, "packets"),
      field("missing_packets", &Q::missing_packets, "gaps in the sequence, not filled later"),
      field("retransmitted_packets", &Q::retransmitted_packets, "of `packets`"),
      field("retransmitted_bytes", &Q::retransmitted_bytes, "on the wire"),
      field("sequence_naks", &Q::sequence_naks, "for a packet that did not come"),
      field("other_naks", &Q::other_naks, "for other reasons"),
      field("receiver_not_ready", &Q::receiver_not_ready, "no receive buffer was posted"),
      field("congestion_notifications", &Q::congestion_notifications, "CNP"),
      field("congestion_marks", &Q::congestion_marks, "packets with ECN's CE")};
};

template <>
struct Fields<capture::source::Interface> {
  using I = capture::source::Interface;
  static constexpr std::tuple kList{
      field("name", &I::name, "a pcap file's own name; empty if a pcapng file does not name it"),
      computed<I>(
          "link_type", [](const I& row) { return static_cast<int>(row.link_type); },
          "as pcap numbers them"),
      null_if(0U, "snapshot_bytes", &I::snapshot_bytes, "captured of each packet, at most"),
      null_if(0U, "mtu_bytes", &I::mtu, "of the interface")};
};

}  // namespace chokepoint

namespace chokepoint::capture {
namespace {

using cli::Json;

Json distribution_body(const math::Distribution& values) {
  if (values.count == 0) {
    return {};
  }
  return {{"min", values.min}, {"median", values.median}, {"p99", values.p99},
          {"max", values.max}, {"mean", values.mean},     {"count", values.count}};
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json or_null(const std::optional<math::Distribution>& values) {
  return values ? distribution_body(*values) : Json();
}

Json end_body(const packet::Address& address, bool is_ipv6, std::uint16_t port) {
  return {{"address", packet::text_of(address, is_ipv6)}, {"port", port}};
}

void add_retransmissions(Json& body, const flow::DirectionFacts& facts) {
  const flow::Retransmissions& causes = facts.retransmissions;
  body["retransmitted_packets"] = facts.retransmitted_packets;
  body["retransmitted_bytes"] = facts.retransmitted_bytes;
  body["retransmissions"] = {{"fast", causes.fast},
                             {"timeout", causes.timeout},
                             {"spurious", causes.spurious},
                             {"probe", causes.probe},
                             {"unknown", causes.unknown}};
  body["out_of_order"] = facts.out_of_order;
  body["duplicate_acks"] = facts.duplicate_acks;
}

void add_windows(Json& body, const flow::DirectionFacts& facts) {
  body["zero_windows"] = facts.zero_windows;
  body["window_full"] = facts.window_full;
  body["rtt_ms"] = or_null(facts.rtt_ms);
  body["max_in_flight_bytes"] = facts.max_in_flight_bytes;
  body["max_window_bytes"] = or_null(facts.max_window_bytes);
  body["window_scale"] = or_null(facts.window_scale);
  body["cwnd_bytes"] = or_null(facts.cwnd_bytes);
  body["mss_bytes"] = or_null(facts.mss_bytes);
  body["timestamp_rtt_ms"] = or_null(facts.timestamp_rtt_ms);
}

void add_times(Json& body, const flow::DirectionFacts& facts) {
  body["busy_s"] = facts.busy_s;
  body["busy_throughput_mbps"] = facts.busy_s > 0 ? Json(facts.busy_throughput_mbps) : Json();
  body["busy_periods"] = facts.busy_periods;
  body["window_limited_s"] = facts.window_limited_s;
  body["zero_window_s"] = facts.zero_window_s;
}

void add_rarities(Json& body, const flow::DirectionFacts& facts) {
  body["unique_bytes"] = facts.unique_bytes;
  body["duplicates"] = facts.duplicates;
  body["lost_before_tap"] = facts.lost_before_tap;
  body["missing_bytes"] = facts.missing_bytes;
  body["keep_alives"] = facts.keep_alives;
  body["zero_window_probes"] = facts.zero_window_probes;
  body["sack_used"] = facts.used_sack;
  body["sack_acks"] = facts.sack_acks;
  body["dsack_acks"] = facts.dsack_acks;
}

void add_tcp(Json& body, const flow::DirectionFacts& facts) {
  add_retransmissions(body, facts);
  add_windows(body, facts);
  add_times(body, facts);
  add_rarities(body, facts);
}

// The members of add_tcp(), all null.
void add_no_tcp(Json& body) {
  Json names;
  add_tcp(names, {});
  for (const auto& [name, value] : names.items()) {
    body[name] = nullptr;
  }
}

Json direction_body(const flow::DirectionFacts& facts, bool is_tcp) {
  const bool has_length = facts.last_ns > facts.first_ns;
  Json body{{"packets", facts.packets},
            {"bytes", facts.bytes},
            {"payload_bytes", facts.payload_bytes},
            {"throughput_mbps", has_length ? Json(facts.throughput_mbps) : Json()}};
  if (is_tcp) {
    add_tcp(body, facts);
  } else {
    add_no_tcp(body);
  }
  body["longest_idle_s"] = has_length ? Json(facts.longest_idle_s) : Json();
  body["congestion_marks"] = facts.congestion_marks;
  body["frames"] = facts.frames;
  body["frame_bytes"] = facts.frame_bytes;
  return body;
}

// What only TCP has is null for other protocols. Times count from `first_ns`, the capture's first
// packet.
Json flow_body(const flow::FlowFacts& facts, const std::string& interface, std::int64_t first_ns) {
  const packet::Ends& ends = facts.ends;
  const bool is_tcp = facts.kind == packet::Kind::Tcp;
  return {{"protocol", observer::protocol_text(facts.kind)},
          {"a", end_body(ends.source, ends.is_ipv6, ends.source_port)},
          {"b", end_body(ends.destination, ends.is_ipv6, ends.destination_port)},
          {"tunnel", ends.tunnel == 0 ? Json() : Json(ends.tunnel)},
          {"interface", interface.empty() ? Json() : Json(interface)},
          {"start_s", seconds_of(facts.start_ns - first_ns)},
          {"end_s", seconds_of(facts.end_ns - first_ns)},
          {"handshake_seen", is_tcp ? Json(facts.handshake_seen) : Json()},
          {"closed", is_tcp ? Json(facts.is_closed) : Json()},
          {"path_rtt_ms", or_null(facts.path_rtt_ms)},
          {"a_to_b", direction_body(facts.directions[0], is_tcp)},
          {"b_to_a", direction_body(facts.directions[1], is_tcp)}};
}

// One direction, bin by bin; times count from the capture's first packet.
Json series_body(std::vector<flow::Bin> bins, std::int64_t first_ns) {
  for (flow::Bin& bin : bins) {
    bin.start_ns -= first_ns;
  }
  return json::to_json(bins);
}

std::string text_of(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

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

Json queue_pair_body(roce::QueuePairFacts facts, std::int64_t first_ns) {
  facts.first_ns -= first_ns;
  facts.last_ns -= first_ns;
  return json::to_json(facts);
}

// Milliseconds, as everywhere in the documents.
Json duration_body(const math::Histogram& nanoseconds) {
  math::Distribution values = nanoseconds.distribution();
  for (double* value : {&values.min, &values.median, &values.p99, &values.max, &values.mean}) {
    *value /= math::kNsPerMs;
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
        body["a_to_b"]["series"] = series_body(engine.bins(slot, 0), first_ns);
        body["b_to_a"]["series"] = series_body(engine.bins(slot, 1), first_ns);
      }
      document.item(body);
    });
  }
  document.end_list();
}

}  // namespace

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
  document.add_all(sums_body(findings));
  print_flows(document, findings, observer, options);
  document.add("remainder", json::to_json(findings.remainder));
  document.add("other", json::to_json(findings.others));
  document.add("gloo", gloo_body(findings));
  document.begin_list("roce");
  for (const roce::QueuePairFacts& facts : findings.queue_pairs) {
    document.item(queue_pair_body(facts, findings.progress.first_ns));
  }
  document.end_list();
  document.add("drops", drops_body(findings));
  document.add("interfaces", json::to_json(findings.interfaces));
  document.add("remarks", findings.remarks);
}

}  // namespace chokepoint::capture
