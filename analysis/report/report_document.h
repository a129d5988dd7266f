// The chokepoint.report/1 document, from which the page is drawn; docs/guide/report.md explains it.
// Times are seconds of the common clock since the timeline's origin, and long lists are columns,
// to keep the page small. Texts are passed on as they are: a page that shows them must not treat
// them as markup. Values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/report/report.h"
#include "base/documents/values.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {

// A number to four significant digits; null for NaN.
struct RoundedNumber {
  double value = 0;
};

// A value of a probe's document that is there: a number or a text.
struct KnownValue {
  ProbeValue value = {};
};

// Whole documents within this one, with their heads.
struct RunPart {
  json::Json document = {};
};
struct DiagnosisPart {
  json::Json document = {};
};

struct BarColumns {
  std::vector<std::int64_t> number = {};
  std::vector<double> start_s = {};
  std::vector<std::int64_t> count = {};
  std::vector<std::vector<double>> ms = {};
};

struct ShownAccounting {
  std::vector<std::string> accounts = {};
  std::vector<double> total_ms_per_step = {};
  BarColumns steps = {};
  std::string source = {};
};

struct ShownClock {
  ClockSource source = ClockSource::None;
  std::optional<double> error_ms = {};
};

struct AxisColumns {
  std::vector<double> edges_s = {};
};

struct SpanColumns {
  std::vector<double> start_s = {};
  std::vector<double> end_s = {};
};

struct StepColumns {
  std::optional<record::StepSource> source = {};
  SpanColumns spans = {};
  std::vector<std::int64_t> count = {};
  std::vector<bool> settled = {};
  std::size_t shown = 0;
  std::int64_t all = 0;
};

struct LaneColumns {
  std::string node = {};
  std::optional<std::int64_t> rank = {};
  LaneKind kind = LaneKind::Steps;
  std::vector<std::string> names = {};
  SpanColumns spans = {};
  std::vector<std::size_t> name = {};
  std::optional<std::vector<std::optional<double>>> bytes = {};
  std::size_t shown = 0;
  std::int64_t all = 0;
  std::string source = {};
};

struct ShownSpan {
  double start_s = 0;
  double end_s = 0;
};

struct ShownTimeline {
  std::optional<documents::WallTime> origin = {};
  double start_s = 0;
  double end_s = 0;
  std::vector<NodeTime> nodes = {};
  std::vector<AxisColumns> axes = {};
  std::vector<Track> tracks = {};
  StepColumns steps = {};
  std::vector<LaneColumns> lanes = {};
  SpanColumns communicating = {};
  std::vector<ShownSpan> windows = {};
  std::vector<std::string> remarks = {};
};

enum class MomentKind : std::uint8_t { Evidence, Event };

struct ShownMoment {
  double start_s = 0;
  std::optional<double> end_s = {};
  std::string node = {};
  MomentKind kind = MomentKind::Event;
  std::string what = {};
  std::string detail = {};
  std::string source = {};
};

// Without the session that wrote it.
struct ShownFact : record::Fact {};

struct ReportDocument {
  std::string run = {};
  std::string program = {};
  RunPart summary = {};
  DiagnosisPart diagnosis = {};
  std::optional<ShownAccounting> accounting = {};
  ShownTimeline timeline = {};
  std::vector<ShownMoment> moments = {};
  std::vector<FlowLine> flows = {};
  TrafficMatrix matrix = {};
  std::vector<HostPicture> hosts = {};
  std::vector<PathPicture> paths = {};
  std::vector<ProbeLine> probes = {};
  std::vector<RecordedProbe> recorded_probes = {};
  std::vector<std::string> missing = {};
};

// All but the program's version and the documents within it.
ReportDocument document_of(const Report& report);

ShownTimeline shown(const Timeline& timeline);
std::vector<ShownMoment> shown_moments(const Timeline& timeline);
// nullopt where time was not accounted for.
std::optional<ShownAccounting> shown_accounting(const Diagnosis& diagnosis,
                                                const std::vector<StepBar>& bars,
                                                std::int64_t origin_ns);

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct JsonForm<analysis::RoundedNumber> {
  static void write(json::Json& at, const analysis::RoundedNumber& number);
  static void describe(json::Json& schema, bool /*is_nullable*/) {
    schema["type"] = {"number", "null"};
  }
};

template <>
struct JsonForm<analysis::RunPart> {
  static void write(json::Json& at, const analysis::RunPart& part) { at = part.document; }
  static void describe(json::Json& schema, bool /*is_nullable*/) {
    schema["$ref"] = "run.schema.json";
  }
};

template <>
struct JsonForm<analysis::DiagnosisPart> {
  static void write(json::Json& at, const analysis::DiagnosisPart& part) { at = part.document; }
  static void describe(json::Json& schema, bool /*is_nullable*/) {
    schema["$ref"] = "diagnosis.schema.json";
  }
};

template <>
struct JsonForm<analysis::ProbeValue> {
  static void write(json::Json& at, const analysis::ProbeValue& value);
  static void describe(json::Json& schema, bool /*is_nullable*/) {
    schema["type"] = {"number", "string", "null"};
  }
};

template <>
struct JsonForm<analysis::KnownValue> {
  static void write(json::Json& at, const analysis::KnownValue& known) {
    JsonForm<analysis::ProbeValue>::write(at, known.value);
  }
  static void describe(json::Json& schema, bool /*is_nullable*/) {
    schema["type"] = {"number", "string"};
  }
};

template <>
struct EnumNames<analysis::LaneKind> {
  using enum analysis::LaneKind;
  static constexpr std::string_view kWhat = "steps, collectives or waiting";
  static constexpr auto kNames = std::to_array<EnumName<analysis::LaneKind>>(
      {{Steps, "steps"}, {Collectives, "collectives"}, {Waiting, "waiting"}});
};

template <>
struct EnumNames<analysis::MomentKind> {
  using enum analysis::MomentKind;
  static constexpr std::string_view kWhat = "evidence or event";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::MomentKind>>({{Evidence, "evidence"}, {Event, "event"}});
};

template <>
struct Fields<analysis::BarColumns> {
  using B = analysis::BarColumns;
  static constexpr FieldList kList{
      field("number", &B::number, "of the first step of each bar").at_least(0),
      field("start_s", &B::start_s, "of that step"),
      field("count", &B::count, "of how many steps the bar is the mean").at_least(1),
      field("ms", &B::ms, "for each account a value for each bar")};
};

template <>
struct Fields<analysis::ShownAccounting> {
  using A = analysis::ShownAccounting;
  static constexpr FieldList kList{
      field("accounts", &A::accounts, "their names"),
      field("total_ms_per_step", &A::total_ms_per_step, "in their order").at_least(0),
      field("steps", &A::steps, "as bars"), field("source", &A::source, "how it came about")};
};

template <>
struct Fields<analysis::ShownClock> {
  using C = analysis::ShownClock;
  static constexpr FieldList kList{
      field("source", &C::source, "how it is known"),
      field("error_ms", &C::error_ms, "at most; null: not known").at_least(0)};
};

template <>
struct Fields<analysis::NodeTime> {
  using N = analysis::NodeTime;
  static constexpr FieldList kList{field("name", &N::name, "as its record names it"),
                                   field("ranks", &N::ranks, "on it").at_least(0),
                                   computed<N>(
                                       "clock",
                                       [](const N& node) {
                                         return analysis::ShownClock{
                                             .source = node.clock_source,
                                             .error_ms = node.clock_error_ms};
                                       },
                                       "against the common one")};
};

template <>
struct Fields<analysis::AxisColumns> {
  static constexpr FieldList kList{
      field("edges_s", &analysis::AxisColumns::edges_s, "of its bins")};
};

template <>
struct Fields<analysis::Track> {
  using T = analysis::Track;
  static std::vector<analysis::RoundedNumber> values(const T& track) {
    std::vector<analysis::RoundedNumber> rounded;
    rounded.reserve(track.values.size());
    for (const double value : track.values) {
      rounded.push_back({value});
    }
    return rounded;
  }
  static constexpr FieldList kList{
      field("group", &T::group, "one picture shows a group"),
      field("node", &T::node, "whose record has it"),
      field("flow", &T::flow, "its id in `flows`"),
      field("name", &T::name, "of the figure"),
      field("subject", &T::subject, "a device or a mount").null_if_empty(),
      field("direction", &T::direction, "of the flow"),
      field("unit", &T::unit, "of the values"),
      field("axis", &T::axis, "its number in `axes`"),
      computed<T>("values", values, "one for each bin; null: not known"),
      field("source", &T::source, "the rows that it is made of")};
};

template <>
struct Fields<analysis::SpanColumns> {
  using S = analysis::SpanColumns;
  static constexpr FieldList kList{field("start_s", &S::start_s, "of each"),
                                   field("end_s", &S::end_s, "of each")};
};

template <>
struct Fields<analysis::StepColumns> {
  using S = analysis::StepColumns;
  static constexpr FieldList kList{
      field("source", &S::source, "how steps were found"),
      spread(&S::spans),
      field("count", &S::count, "of how many steps the bar is").at_least(0),
      field("settled", &S::settled, "its account is part of the mean"),
      field("shown", &S::shown, "how many bars"),
      field("all", &S::all, "how many steps").at_least(0)};
};

template <>
struct Fields<analysis::LaneColumns> {
  using L = analysis::LaneColumns;
  static constexpr FieldList kList{
      field("node", &L::node, "of the rank"),
      field("rank", &L::rank, "null: not known").at_least(0),
      field("kind", &L::kind, "what it shows"),
      field("names", &L::names, "of what is in it"),
      spread(&L::spans),
      field("name", &L::name, "numbers in `names`"),
      field("bytes", &L::bytes, "of collectives only").at_least(0).omitted_if_unknown(),
      field("shown", &L::shown, "how many are shown"),
      field("all", &L::all, "how many there were").at_least(0),
      field("source", &L::source, "the rows that it is made of")};
};

template <>
struct Fields<analysis::ShownSpan> {
  using S = analysis::ShownSpan;
  static constexpr FieldList kList{field("start_s", &S::start_s, "its beginning"),
                                   field("end_s", &S::end_s, "its end")};
};

template <>
struct Fields<analysis::ShownTimeline> {
  using T = analysis::ShownTimeline;
  static constexpr FieldList kList{
      field("origin", &T::origin, "second 0 of all times; null: not known; RFC 3339, UTC"),
      field("start_s", &T::start_s, "0"),
      field("end_s", &T::end_s, "of the run"),
      field("nodes", &T::nodes, "that left a record"),
      field("axes", &T::axes, "of tracks"),
      field("tracks", &T::tracks, "figures over time"),
      field("steps", &T::steps, "of the rank by which steps are counted"),
      field("lanes", &T::lanes, "what a rank did, or when others waited for it"),
      field("communicating", &T::communicating, "when data were under way"),
      field("windows", &T::windows, "that were read in full; empty: all was"),
      field("remarks", &T::remarks, "what was left out, and why")};
};

template <>
struct Fields<analysis::ShownMoment> {
  using M = analysis::ShownMoment;
  static constexpr FieldList kList{
      field("start_s", &M::start_s, "when"),
      field("end_s", &M::end_s, "null: it has no length"),
      field("node", &M::node, "where; null: on no node alone").null_if_empty(),
      field("kind", &M::kind, "evidence of the verdict, or an event of the record"),
      field("what", &M::what, "for people"),
      field("detail", &M::detail, "of an event").null_if_empty(),
      field("source", &M::source, "the rows that say so")};
};

template <>
struct Fields<analysis::FlowSide> {
  using S = analysis::FlowSide;
  static constexpr FieldList kList{
      field("name", &S::name, "a node's, or the address of one without a record"),
      field("address", &S::address, "of the end"),
      field("port", &S::port, "of TCP or UDP").between(0, 65535),
      field("rank", &S::rank, "of the process").at_least(0),
      field("interface", &S::interface, "that the data pass").null_if_empty(),
      field("process", &S::process, "whose socket it is").null_if_empty()};
};

template <>
struct Fields<analysis::LimitTimes> {
  using L = analysis::LimitTimes;
  template <analysis::Limit limit>
  static double ms(const L& times) {
    return times[limit] / 1e6;
  }
  using enum analysis::Limit;
  static constexpr FieldList kList{
      computed<L>("link", ms<LinkFull>, "the slowest link was full").at_least(0),
      computed<L>("loss", ms<Loss>, "lost packets").at_least(0),
      computed<L>("receive_window", ms<ReceiveWindow>, "the receiver announced no more")
          .at_least(0),
      computed<L>("send_buffer", ms<SendBuffer>, "the sender's buffer held no more").at_least(0),
      computed<L>("congestion_window", ms<CongestionWindow>, "still growing").at_least(0),
      computed<L>("library_credit", ms<LibraryCredit>, "the library handed over no more")
          .at_least(0),
      computed<L>("round_trip", ms<RoundTrip>, "the path's delay alone").at_least(0)};
  static_assert(kList.size() == analysis::kLimits);
};

template <>
struct Fields<analysis::FlowDirection> {
  using W = analysis::FlowDirection;
  static constexpr FieldList kList{
      field("bytes", &W::bytes, "on the wire").at_least(0),
      field("payload_bytes", &W::payload_bytes, "of the stream").at_least(0),
      field("packets", &W::packets, "segments").at_least(0),
      field("retransmitted_packets", &W::retransmitted_packets, "of them").at_least(0),
      computed<W>(
          "retransmitted_percent",
          [](const W& direction) { return direction.retransmitted_percent(); }, "of the packets")
          .between(0, 100),
      field("fast_retransmissions", &W::fast_retransmissions, "the receiver had reported a hole")
          .at_least(0),
      field("timeout_retransmissions", &W::timeout_retransmissions, "a timer had run out")
          .at_least(0),
      field("out_of_order", &W::out_of_order, "packets that were overtaken").at_least(0),
      field("duplicate_acks", &W::duplicate_acks, "that reported a hole").at_least(0),
      field("zero_windows", &W::zero_windows, "times the receiver closed its window").at_least(0),
      field("window_full", &W::window_full, "times the receiver's window was full").at_least(0),
      field("throughput_mbps", &W::throughput_mbps, "of payload, over the connection's life")
          .at_least(0),
      field("busy_s", &W::busy_s, "with data outstanding, by the kernel").at_least(0),
      field("busy_mbps", &W::busy_mbps, "of payload, while it arrived").at_least(0),
      field("max_in_flight_bytes", &W::max_in_flight_bytes, "sent and not acknowledged")
          .at_least(0),
      field("max_window_bytes", &W::max_window_bytes, "of the receiver").at_least(0),
      field("max_cwnd_bytes", &W::max_cwnd_bytes, "the congestion window").at_least(0),
      field("rtt_ms", &W::rtt_ms, "at the sender's end").at_least(0),
      field("limited_by", &W::limited_by, "milliseconds by limit")};
};

template <>
struct Fields<analysis::FlowLine> {
  using L = analysis::FlowLine;
  // The first end's that is known.
  template <std::string analysis::FlowSide::* text>
  static std::string known(const L& line) {
    const std::string& first = line.sides[0].*text;
    return first.empty() ? line.sides[1].*text : first;
  }
  static constexpr FieldList kList{
      field("id", &L::id, "its place in the list"),
      field("protocol", &L::protocol, "tcp, udp or roce"),
      computed<L>(
          "a", [](const L& line) { return line.sides[0]; }, "one end"),
      computed<L>(
          "b", [](const L& line) { return line.sides[1]; }, "the other end"),
      computed<L>("interface", known<&analysis::FlowSide::interface>, "of a, else of b")
          .null_if_empty(),
      computed<L>("process", known<&analysis::FlowSide::process>, "of a, else of b")
          .null_if_empty(),
      field("start_s", &L::start_s, "null: not known"),
      field("end_s", &L::end_s, "null: it was open when watching ended"),
      field("min_rtt_ms", &L::min_rtt_ms, "unloaded").at_least(0),
      computed<L>(
          "rtt_ms", [](const L& line) { return line.rtt_ms(); },
          "of the direction that carried most")
          .at_least(0),
      computed<L>(
          "a_to_b", [](const L& line) { return line.directions[0]; }, "what a sent"),
      computed<L>(
          "b_to_a", [](const L& line) { return line.directions[1]; }, "what b sent"),
      field("seen_by", &L::seen_by, "nodes"),
      field("source", &L::source, "the rows that it is made of")};
};

template <>
struct Fields<analysis::TrafficMatrix> {
  using M = analysis::TrafficMatrix;
  static constexpr FieldList kList{
      field("names", &M::names, "nodes, then addresses of peers without a record"),
      field("bytes", &M::bytes, "of payload, by sender and receiver").at_least(0),
      field("throughput_mbps", &M::throughput_mbps, "over the run, by sender and receiver")
          .at_least(0),
      field("source", &M::source, "the rows that it is made of")};
};

template <>
struct Fields<analysis::PciePicture> {
  using P = analysis::PciePicture;
  static constexpr FieldList kList{
      field("bus_id", &P::bus_id, "of the card").null_if_empty(),
      field("speed_gts", &P::speed_gts, "of the narrowest hop").at_least(0),
      field("width", &P::width, "of the narrowest hop").at_least(0),
      field("max_speed_gts", &P::max_speed_gts, "possible, of the card alone").at_least(0),
      field("max_width", &P::max_width, "possible, of the card alone").at_least(0),
      field("ceiling_mbps", &P::ceiling_mbps, "that it carries, 10^6 bit/s").at_least(0),
      field("possible_mbps", &P::possible_mbps, "that it could carry, 10^6 bit/s").at_least(0),
      field("source", &P::source, "where that is from")};
};

template <>
struct Fields<analysis::InterfacePicture> {
  using I = analysis::InterfacePicture;
  using T = analysis::InterfaceTraffic;
  static constexpr FieldList kList{
      field("name", &I::name, "of the interface"),
      field("kind", &I::kind, "physical, virtual …").null_if_empty(),
      field("is_up", &I::is_up, "it was up"),
      field("speed_mbps", &I::speed_mbps, "of the line").at_least(0),
      field("mtu_bytes", &I::mtu_bytes, "of its frames' contents").at_least(0),
      field("driver", &I::driver, "its name").null_if_empty(),
      field("addresses", &I::addresses, "with their lengths"),
      field("used", &I::is_used, "by the job"),
      within(&I::all, field("sent_bytes", &T::sent_bytes, "of all traffic").at_least(0)),
      within(&I::all, field("received_bytes", &T::received_bytes, "of all traffic").at_least(0)),
      within(&I::all, field("sent_peak_mbps", &T::sent_peak_mbps,
                            "of all traffic, the fastest between two readings")
                          .at_least(0)),
      within(&I::all, field("received_peak_mbps", &T::received_peak_mbps,
                            "of all traffic, the fastest between two readings")
                          .at_least(0)),
      computed<I>(
          "peak_mbps", [](const I& interface) { return interface.peak_mbps(); },
          "in the faster direction")
          .at_least(0),
      within(&I::job, field("job_sent_bytes", &T::sent_bytes, "of the job").at_least(0)),
      within(&I::job, field("job_received_bytes", &T::received_bytes, "of the job").at_least(0)),
      field("pcie", &I::pcie, "its slot; null: it has none, or it is not known"),
      field("source", &I::source, "where that is from")};
};

template <>
struct Fields<analysis::GpuPicture> {
  using G = analysis::GpuPicture;
  static constexpr FieldList kList{field("name", &G::name, "its model").null_if_empty(),
                                   field("bus_id", &G::bus_id, "of its slot"),
                                   field("pcie", &G::pcie, "its slot; null: not known")};
};

template <>
struct Fields<analysis::ShownFact> {
  using F = analysis::ShownFact;
  static constexpr FieldList kList{
      field("category", &F::category, "of the fact"),
      field("subject", &F::subject, "a device").null_if_empty(), field("key", &F::key, "what"),
      field("value", &F::value, "its"),
      field("source", &F::source, "a file or command").null_if_empty()};
};

template <>
struct Fields<analysis::HostPicture> {
  using H = analysis::HostPicture;
  static std::vector<analysis::ShownFact> facts(const H& host) {
    std::vector<analysis::ShownFact> shown;
    for (const record::Fact& fact : host.facts) {
      shown.push_back({fact});
    }
    return shown;
  }
  static constexpr FieldList kList{
      field("name", &H::name, "the node's"),
      field("host", &H::host, "its name").null_if_empty(),
      field("kernel", &H::kernel, "its release").null_if_empty(),
      field("distribution", &H::distribution, "of Linux").null_if_empty(),
      field("cpu", &H::cpu, "its model").null_if_empty(),
      field("cores", &H::cores, "of the host").at_least(0),
      field("memory_bytes", &H::memory_bytes, "of the host").at_least(0),
      field("interfaces", &H::interfaces, "of the network"),
      field("gpus", &H::gpus, "of the host"),
      computed<H>("facts", facts, "of its tuning, those that may affect a job"),
      field("doctor", &H::doctor, "what doctor found there; null: it was not asked")};
};

template <>
struct EnumNames<analysis::PathLimit> {
  using enum analysis::PathLimit;
  static constexpr std::string_view kWhat = "full, interface, pcie or probe";
  static constexpr auto kNames = std::to_array<EnumName<analysis::PathLimit>>(
      {{Full, "full"}, {Interface, "interface"}, {Pcie, "pcie"}, {Probe, "probe"}});
};

template <>
struct Fields<analysis::OtherWay> {
  using O = analysis::OtherWay;
  static constexpr FieldList kList{
      field("address", &O::address, "of the probe's peer").null_if_empty(),
      field("mbps", &O::mbps, "that the probe measured").at_least(0)};
};

template <>
struct Fields<analysis::PathPicture> {
  using P = analysis::PathPicture;
  static constexpr FieldList kList{
      field("from", &P::from, "a node's name, or the address of one without a record"),
      field("to", &P::to, "likewise"),
      field("is_wan", &P::is_wan, "by its round trip; null: not known"),
      field("family", &P::family, "ipv4 or ipv6").null_if_empty(),
      field("min_rtt_ms", &P::min_rtt_ms, "unloaded").at_least(0),
      field("median_rtt_ms", &P::median_rtt_ms, "of the busiest connection").at_least(0),
      field("retransmitted_percent", &P::retransmitted_percent, "of packets").between(0, 100),
      field("payload_bytes", &P::payload_bytes, "of the job").at_least(0),
      field("reached_mbps", &P::reached_mbps, "payload, in its best 100 ms").at_least(0),
      field("mean_busy_mbps", &P::mean_busy_mbps, "payload, while data came").at_least(0),
      field("interface_mbps", &P::interface_mbps, "the slower of both ends").at_least(0),
      field("pcie_mbps", &P::pcie_mbps, "the narrower slot of both ends").at_least(0),
      field("probe_mbps", &P::probe_mbps, "the best that a probe measured this way").at_least(0),
      field("full_mbps", &P::full_mbps,
            "reached, where the path's slowest link was full most of the time")
          .at_least(0),
      field("other_way", &P::other_way, "a better one"),
      computed<P>(
          "possible_mbps", [](const P& path) { return path.possible_mbps(); },
          "the smallest of the limits that the job did not exceed")
          .at_least(0),
      computed<P>(
          "limit", [](const P& path) { return path.limit(); },
          "what `possible_mbps` is the rate of"),
      field("source", &P::source, "the rows that it is made of")};
};

template <>
struct Fields<analysis::ProbeLine> {
  using L = analysis::ProbeLine;
  static constexpr FieldList kList{
      field("node", &L::node, "that ran it"),
      field("kind", &L::kind, "of probe"),
      field("peer", &L::peer, "the other node, else what the probe calls it").null_if_empty(),
      field("address", &L::address, "of the peer").null_if_empty(),
      field("direction", &L::direction, "as the node calls it; null: both ways").null_if_empty(),
      computed<L>(
          "at", [](const L& line) { return documents::WallTime{.ns = line.wall_ns}; },
          "when; RFC 3339, UTC"),
      field("what", &L::what, "was measured"),
      field("probe_value", &L::probe_value, "what the probe measured"),
      field("job_value", &L::job_value, "what the job reached on the same path"),
      field("unit", &L::unit, "of both values"),
      computed<L>(
          "share_percent", [](const L& line) { return line.share_percent(); },
          "the job's of the probe's throughput; null of other figures")
          .at_least(0),
      field("source", &L::source, "a row of the record")};
};

template <>
struct Fields<analysis::NamedValue> {
  using N = analysis::NamedValue;
  static constexpr FieldList kList{
      field("what", &N::what, "by the names of its fields"),
      computed<N>(
          "value", [](const N& named) { return analysis::KnownValue{.value = named.value}; },
          "a number or a text"),
      field("unit", &N::unit, "of a number").null_if_empty()};
};

template <>
struct Fields<analysis::NamedList::Column> {
  using C = analysis::NamedList::Column;
  static constexpr FieldList kList{field("what", &C::what, "by the name of its field"),
                                   field("unit", &C::unit, "of numbers").null_if_empty()};
};

template <>
struct Fields<analysis::NamedList> {
  using L = analysis::NamedList;
  static constexpr FieldList kList{
      field("what", &L::what, "by the name of its field"),
      field("count", &L::count, "items of all; rows are the first of them"),
      field("columns", &L::columns, "of the rows"),
      field("rows", &L::rows, "each with a value for each column; null: not known")};
};

template <>
struct Fields<analysis::RecordedProbe> {
  using R = analysis::RecordedProbe;
  static constexpr FieldList kList{
      field("node", &R::node, "that ran it"),
      field("kind", &R::kind, "of probe"),
      field("peer", &R::peer, "as the record has it").null_if_empty(),
      field("direction", &R::direction, "as the node calls it").null_if_empty(),
      computed<R>(
          "at", [](const R& probe) { return documents::WallTime{.ns = probe.wall_ns}; },
          "when; RFC 3339, UTC"),
      field("source", &R::source, "a row of the record"),
      field("values", &R::values, "of its document"),
      field("lists", &R::lists, "of its document")};
};

template <>
struct Fields<analysis::ReportDocument> {
  using R = analysis::ReportDocument;
  static constexpr std::string_view kSchema = "chokepoint.report/1";
  static constexpr const char* kPrinted =
      "what `chokepoint report --format json` writes, and the page contains. Times that end in "
      "`_s` are seconds on the common clock since `timeline.origin`; a list of numbers is a column";
  static constexpr FieldList kList{
      field("run", &R::run, "the folder as it was given"),
      field("program", &R::program, "the version that wrote it"),
      field("summary", &R::summary, "rows are not counted"),
      field("diagnosis", &R::diagnosis, "with its grounds"),
      field("accounting", &R::accounting, "null where time could not be accounted for"),
      field("timeline", &R::timeline, "of all nodes"),
      field("moments", &R::moments, "to look at"),
      field("flows", &R::flows, "the connections"),
      field("matrix", &R::matrix, "traffic between each two names"),
      field("hosts", &R::hosts, "of the nodes"),
      field("paths", &R::paths, "each direction and address family"),
      field("probes", &R::probes, "beside the job, a line a number"),
      field("recorded_probes", &R::recorded_probes,
            "the run's probes, whole: every value and list of their documents"),
      field("missing", &R::missing, "what was not measured and why")};
};

}  // namespace chokepoint
