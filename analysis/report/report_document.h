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
      field("number", &B::number, "number of the first step of each bar").at_least(0),
      field("start_s", &B::start_s, "start of that step"),
      field("count", &B::count, "number of steps that the bar is the mean of").at_least(1),
      field("ms", &B::ms, "one list for each account, with a value for each bar")};
};

template <>
struct Fields<analysis::ShownAccounting> {
  using A = analysis::ShownAccounting;
  static constexpr FieldList kList{
      field("accounts", &A::accounts, "names of the accounts"),
      field("total_ms_per_step", &A::total_ms_per_step, "totals in the order of `accounts`")
          .at_least(0),
      field("steps", &A::steps, "steps as bars"),
      field("source", &A::source, "how the verdict was found")};
};

template <>
struct Fields<analysis::ShownClock> {
  using C = analysis::ShownClock;
  static constexpr FieldList kList{
      field("source", &C::source, "how it is known"),
      field("error_ms", &C::error_ms, "largest error; null: not known").at_least(0)};
};

template <>
struct Fields<analysis::NodeTime> {
  using N = analysis::NodeTime;
  static constexpr FieldList kList{field("name", &N::name, "name of the node in its record"),
                                   field("ranks", &N::ranks, "ranks on the node").at_least(0),
                                   computed<N>(
                                       "clock",
                                       [](const N& node) {
                                         return analysis::ShownClock{
                                             .source = node.clock_source,
                                             .error_ms = node.clock_error_ms};
                                       },
                                       "the node's clock compared with the common clock")};
};

template <>
struct Fields<analysis::AxisColumns> {
  static constexpr FieldList kList{
      field("edges_s", &analysis::AxisColumns::edges_s, "edges of the axis' bins")};
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
      field("group", &T::group, "group of tracks that one picture shows"),
      field("node", &T::node, "node whose record has the track"),
      field("flow", &T::flow, "id of the flow in `flows`"),
      field("name", &T::name, "name of the figure"),
      field("subject", &T::subject, "a device or a mount").null_if_empty(),
      field("direction", &T::direction, "direction of the flow"),
      field("unit", &T::unit, "unit of the values"),
      field("axis", &T::axis, "number of the track's axis in `axes`"),
      computed<T>("values", values, "one value for each bin; null: not known"),
      field("source", &T::source, "rows of the record that this is made of")};
};

template <>
struct Fields<analysis::SpanColumns> {
  using S = analysis::SpanColumns;
  static constexpr FieldList kList{field("start_s", &S::start_s, "start of each item"),
                                   field("end_s", &S::end_s, "end of each item")};
};

template <>
struct Fields<analysis::StepColumns> {
  using S = analysis::StepColumns;
  static constexpr FieldList kList{
      field("source", &S::source, "how steps were found"),
      spread(&S::spans),
      field("count", &S::count, "number of steps that the bar stands for").at_least(0),
      field("settled", &S::settled, "whether its account is part of the mean"),
      field("shown", &S::shown, "number of bars"),
      field("all", &S::all, "number of steps").at_least(0)};
};

template <>
struct Fields<analysis::LaneColumns> {
  using L = analysis::LaneColumns;
  static constexpr FieldList kList{
      field("node", &L::node, "node of the rank"),
      field("rank", &L::rank, "number of the rank; null: not known").at_least(0),
      field("kind", &L::kind, "what the lane shows"),
      field("names", &L::names, "names that the items of the lane have"),
      spread(&L::spans),
      field("name", &L::name, "for each item its name, as a number in `names`"),
      field("bytes", &L::bytes, "bytes, for collectives only").at_least(0).omitted_if_unknown(),
      field("shown", &L::shown, "number of items shown"),
      field("all", &L::all, "number of items recorded").at_least(0),
      field("source", &L::source, "rows of the record that this is made of")};
};

template <>
struct Fields<analysis::ShownSpan> {
  using S = analysis::ShownSpan;
  static constexpr FieldList kList{field("start_s", &S::start_s, "beginning"),
                                   field("end_s", &S::end_s, "end")};
};

template <>
struct Fields<analysis::ShownTimeline> {
  using T = analysis::ShownTimeline;
  static constexpr FieldList kList{
      field("origin", &T::origin, "when second 0 of all times was; null: not known; RFC 3339, UTC"),
      field("start_s", &T::start_s, "0"),
      field("end_s", &T::end_s, "end of the run"),
      field("nodes", &T::nodes, "nodes with a record"),
      field("axes", &T::axes, "axes of the tracks"),
      field("tracks", &T::tracks, "figures over time"),
      field("steps", &T::steps, "steps of the rank by which steps are counted"),
      field("lanes", &T::lanes, "what each rank did, and when others waited for it"),
      field("communicating", &T::communicating, "when data were being sent"),
      field("windows", &T::windows,
            "spans of time that were read in full; empty: the whole run was"),
      field("remarks", &T::remarks, "what was left out, and why")};
};

template <>
struct Fields<analysis::ShownMoment> {
  using M = analysis::ShownMoment;
  static constexpr FieldList kList{
      field("start_s", &M::start_s, "when the moment began"),
      field("end_s", &M::end_s, "when the moment ended; null: it has no length"),
      field("node", &M::node, "node where it happened; null: on more than one node")
          .null_if_empty(),
      field("kind", &M::kind, "evidence of the verdict, or an event of the record"),
      field("what", &M::what, "what happened, in words"),
      field("detail", &M::detail, "detail of the event").null_if_empty(),
      field("source", &M::source, "rows of the record that show it")};
};

template <>
struct Fields<analysis::FlowSide> {
  using S = analysis::FlowSide;
  static constexpr FieldList kList{
      field("name", &S::name, "name of a node, or address of a host without a record"),
      field("address", &S::address, "address of the end"),
      field("port", &S::port, "port of TCP or UDP").between(0, 65535),
      field("rank", &S::rank, "rank of the process").at_least(0),
      field("interface", &S::interface, "interface that the data pass").null_if_empty(),
      field("process", &S::process, "process whose socket it is").null_if_empty()};
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
      computed<L>("loss", ms<Loss>, "packets were lost").at_least(0),
      computed<L>("receive_window", ms<ReceiveWindow>, "the receive window was full").at_least(0),
      computed<L>("send_buffer", ms<SendBuffer>, "the sender's buffer was full").at_least(0),
      computed<L>("congestion_window", ms<CongestionWindow>,
                  "the congestion window was still growing")
          .at_least(0),
      computed<L>("library_credit", ms<LibraryCredit>, "the library had sent no more credit")
          .at_least(0),
      computed<L>("round_trip", ms<RoundTrip>, "the round trip of the path alone").at_least(0)};
  static_assert(kList.size() == analysis::kLimits);
};

template <>
struct Fields<analysis::FlowDirection> {
  using W = analysis::FlowDirection;
  static constexpr FieldList kList{
      field("bytes", &W::bytes, "on the wire").at_least(0),
      field("payload_bytes", &W::payload_bytes, "bytes of the stream's payload").at_least(0),
      field("packets", &W::packets, "segments").at_least(0),
      field("retransmitted_packets", &W::retransmitted_packets, "segments that were retransmitted")
          .at_least(0),
      computed<W>(
          "retransmitted_percent",
          [](const W& direction) { return direction.retransmitted_percent(); },
          "share of the packets retransmitted")
          .between(0, 100),
      field("fast_retransmissions", &W::fast_retransmissions,
            "retransmissions after the receiver reported a gap")
          .at_least(0),
      field("timeout_retransmissions", &W::timeout_retransmissions,
            "retransmissions after a timeout")
          .at_least(0),
      field("out_of_order", &W::out_of_order, "packets that were overtaken").at_least(0),
      field("duplicate_acks", &W::duplicate_acks, "acknowledgements that reported a gap")
          .at_least(0),
      field("zero_windows", &W::zero_windows, "times the receiver closed its window").at_least(0),
      field("window_full", &W::window_full, "times the receiver's window was full").at_least(0),
      field("throughput_mbps", &W::throughput_mbps, "payload, over the connection's lifetime")
          .at_least(0),
      field("busy_s", &W::busy_s, "seconds with data outstanding, by the kernel").at_least(0),
      field("busy_mbps", &W::busy_mbps, "payload rate while data arrived").at_least(0),
      field("max_in_flight_bytes", &W::max_in_flight_bytes, "most bytes sent and not acknowledged")
          .at_least(0),
      field("max_window_bytes", &W::max_window_bytes, "largest window of the receiver").at_least(0),
      field("max_cwnd_bytes", &W::max_cwnd_bytes, "largest congestion window").at_least(0),
      field("rtt_ms", &W::rtt_ms, "round trip at the sender's end").at_least(0),
      field("limited_by", &W::limited_by, "milliseconds in which each limit applied")};
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
      field("id", &L::id, "number of the flow in the list"),
      field("protocol", &L::protocol, "tcp, udp or roce"),
      computed<L>(
          "a", [](const L& line) { return line.sides[0]; }, "one end"),
      computed<L>(
          "b", [](const L& line) { return line.sides[1]; }, "the other end"),
      computed<L>("interface", known<&analysis::FlowSide::interface>, "interface of a, else of b")
          .null_if_empty(),
      computed<L>("process", known<&analysis::FlowSide::process>, "process of a, else of b")
          .null_if_empty(),
      field("start_s", &L::start_s, "when the connection began; null: not known"),
      field("end_s", &L::end_s,
            "when the connection ended; null: it was open when the recording ended"),
      field("min_rtt_ms", &L::min_rtt_ms, "shortest round trip, unloaded").at_least(0),
      computed<L>(
          "rtt_ms", [](const L& line) { return line.rtt_ms(); },
          "round trip of the direction that carried most")
          .at_least(0),
      computed<L>(
          "a_to_b", [](const L& line) { return line.directions[0]; }, "what a sent"),
      computed<L>(
          "b_to_a", [](const L& line) { return line.directions[1]; }, "what b sent"),
      field("seen_by", &L::seen_by, "nodes whose record has it"),
      field("source", &L::source, "rows of the record that this is made of")};
};

template <>
struct Fields<analysis::TrafficMatrix> {
  using M = analysis::TrafficMatrix;
  static constexpr FieldList kList{
      field("names", &M::names, "names: nodes, then addresses of peers without a record"),
      field("bytes", &M::bytes, "payload, by sender and receiver").at_least(0),
      field("throughput_mbps", &M::throughput_mbps, "over the run, by sender and receiver")
          .at_least(0),
      field("source", &M::source, "rows of the record that this is made of")};
};

template <>
struct Fields<analysis::PciePicture> {
  using P = analysis::PciePicture;
  static constexpr FieldList kList{
      field("bus_id", &P::bus_id, "PCI address of the card").null_if_empty(),
      field("speed_gts", &P::speed_gts, "speed of the narrowest hop").at_least(0),
      field("width", &P::width, "lanes of the narrowest hop").at_least(0),
      field("max_speed_gts", &P::max_speed_gts, "speed that the card can do").at_least(0),
      field("max_width", &P::max_width, "lanes that the card can do").at_least(0),
      field("ceiling_mbps", &P::ceiling_mbps, "rate that it can carry now, 10^6 bit/s").at_least(0),
      field("possible_mbps", &P::possible_mbps,
            "rate that it could carry with the card's best speed and width, 10^6 bit/s")
          .at_least(0),
      field("source", &P::source, "where the values were read")};
};

template <>
struct Fields<analysis::InterfacePicture> {
  using I = analysis::InterfacePicture;
  using T = analysis::InterfaceTraffic;
  static constexpr FieldList kList{
      field("name", &I::name, "name of the interface"),
      field("kind", &I::kind, "physical, virtual …").null_if_empty(),
      field("is_up", &I::is_up, "whether it was up"),
      field("speed_mbps", &I::speed_mbps, "speed of the line").at_least(0),
      field("mtu_bytes", &I::mtu_bytes, "largest IP packet").at_least(0),
      field("driver", &I::driver, "name of the driver").null_if_empty(),
      field("addresses", &I::addresses, "addresses with their prefix lengths"),
      field("used", &I::is_used, "whether the job used it"),
      within(&I::all, field("sent_bytes", &T::sent_bytes, "sent bytes of all traffic").at_least(0)),
      within(
          &I::all,
          field("received_bytes", &T::received_bytes, "received bytes of all traffic").at_least(0)),
      within(&I::all, field("sent_peak_mbps", &T::sent_peak_mbps,
                            "highest sending rate of all traffic between two readings")
                          .at_least(0)),
      within(&I::all, field("received_peak_mbps", &T::received_peak_mbps,
                            "highest receiving rate of all traffic between two readings")
                          .at_least(0)),
      computed<I>(
          "peak_mbps", [](const I& interface) { return interface.peak_mbps(); },
          "highest rate in the faster direction")
          .at_least(0),
      within(&I::job,
             field("job_sent_bytes", &T::sent_bytes, "bytes that the job sent").at_least(0)),
      within(&I::job, field("job_received_bytes", &T::received_bytes, "bytes that the job received")
                          .at_least(0)),
      field("pcie", &I::pcie,
            "PCIe slot of the interface; null: it has none, or the slot is not known"),
      field("source", &I::source, "where the values were read")};
};

template <>
struct Fields<analysis::GpuPicture> {
  using G = analysis::GpuPicture;
  static constexpr FieldList kList{
      field("name", &G::name, "model of the GPU").null_if_empty(),
      field("bus_id", &G::bus_id, "PCI address of its slot"),
      field("pcie", &G::pcie, "PCIe slot of the GPU; null: not known")};
};

template <>
struct Fields<analysis::ShownFact> {
  using F = analysis::ShownFact;
  static constexpr FieldList kList{
      field("category", &F::category, "category of the fact"),
      field("subject", &F::subject, "device of the fact").null_if_empty(),
      field("key", &F::key, "what the fact is"), field("value", &F::value, "value of the fact"),
      field("source", &F::source, "file or command that the value was read from").null_if_empty()};
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
      field("name", &H::name, "name of the node"),
      field("host", &H::host, "name of the host").null_if_empty(),
      field("kernel", &H::kernel, "release of the kernel").null_if_empty(),
      field("distribution", &H::distribution, "Linux distribution").null_if_empty(),
      field("cpu", &H::cpu, "model of the CPU").null_if_empty(),
      field("cores", &H::cores, "cores of the host").at_least(0),
      field("memory_bytes", &H::memory_bytes, "memory of the host").at_least(0),
      field("interfaces", &H::interfaces, "network interfaces"),
      field("gpus", &H::gpus, "GPUs of the host"),
      computed<H>("facts", facts, "settings of the host that may affect a job"),
      field("doctor", &H::doctor, "what doctor found on the host; null: doctor did not run")};
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
      field("address", &O::address, "address of the probe's peer").null_if_empty(),
      field("mbps", &O::mbps, "rate that the probe measured").at_least(0)};
};

template <>
struct Fields<analysis::PathPicture> {
  using P = analysis::PathPicture;
  static constexpr FieldList kList{
      field("from", &P::from, "sender: name of a node, or address of a host without a record"),
      field("to", &P::to, "receiver: name of a node, or address of a host without a record"),
      field("is_wan", &P::is_wan,
            "whether the round trip suggests a wide-area network; null: not known"),
      field("family", &P::family, "ipv4 or ipv6").null_if_empty(),
      field("min_rtt_ms", &P::min_rtt_ms, "shortest round trip, unloaded").at_least(0),
      field("median_rtt_ms", &P::median_rtt_ms, "median round trip of the busiest connection")
          .at_least(0),
      field("retransmitted_percent", &P::retransmitted_percent, "share of packets retransmitted")
          .between(0, 100),
      field("payload_bytes", &P::payload_bytes, "payload bytes of the job").at_least(0),
      field("reached_mbps", &P::reached_mbps, "payload rate in the best 100 ms").at_least(0),
      field("mean_busy_mbps", &P::mean_busy_mbps, "payload rate while data arrived").at_least(0),
      field("interface_mbps", &P::interface_mbps, "speed of the slower interface of both ends")
          .at_least(0),
      field("pcie_mbps", &P::pcie_mbps, "rate of the narrower PCIe slot of both ends").at_least(0),
      field("probe_mbps", &P::probe_mbps, "best rate that a probe measured in this direction")
          .at_least(0),
      field("full_mbps", &P::full_mbps,
            "rate reached, where the path's slowest link was full most of the time")
          .at_least(0),
      field("other_way", &P::other_way, "a better path, if there is one"),
      computed<P>(
          "possible_mbps", [](const P& path) { return path.possible_mbps(); },
          "the smallest of the limits that the job did not exceed")
          .at_least(0),
      computed<P>(
          "limit", [](const P& path) { return path.limit(); },
          "the limit whose rate is `possible_mbps`"),
      field("source", &P::source, "rows of the record that this is made of")};
};

template <>
struct Fields<analysis::ProbeLine> {
  using L = analysis::ProbeLine;
  static constexpr FieldList kList{
      field("node", &L::node, "node that ran the probe"),
      field("kind", &L::kind, "kind of the probe"),
      field("peer", &L::peer, "the other node, else what the probe calls it").null_if_empty(),
      field("address", &L::address, "address of the peer").null_if_empty(),
      field("direction", &L::direction, "direction as seen from the node; null: both directions")
          .null_if_empty(),
      computed<L>(
          "at", [](const L& line) { return documents::WallTime{.ns = line.wall_ns}; },
          "when it was measured; RFC 3339, UTC"),
      field("what", &L::what, "was measured"),
      field("probe_value", &L::probe_value, "what the probe measured"),
      field("job_value", &L::job_value, "what the job reached on the same path"),
      field("unit", &L::unit, "unit of both values"),
      computed<L>(
          "share_percent", [](const L& line) { return line.share_percent(); },
          "the job's throughput in percent of the probe's; null for other figures")
          .at_least(0),
      field("source", &L::source, "a row of the record")};
};

template <>
struct Fields<analysis::NamedValue> {
  using N = analysis::NamedValue;
  static constexpr FieldList kList{
      field("what", &N::what, "names of the value's fields"),
      computed<N>(
          "value", [](const N& named) { return analysis::KnownValue{.value = named.value}; },
          "a number or a text"),
      field("unit", &N::unit, "unit of the number").null_if_empty()};
};

template <>
struct Fields<analysis::NamedList::Column> {
  using C = analysis::NamedList::Column;
  static constexpr FieldList kList{field("what", &C::what, "name of the list's field"),
                                   field("unit", &C::unit, "unit of the numbers").null_if_empty()};
};

template <>
struct Fields<analysis::NamedList> {
  using L = analysis::NamedList;
  static constexpr FieldList kList{
      field("what", &L::what, "name of the list's field"),
      field("count", &L::count, "number of all items; rows are the first ones"),
      field("columns", &L::columns, "columns of the rows"),
      field("rows", &L::rows, "rows, each with a value for each column; null: not known")};
};

template <>
struct Fields<analysis::RecordedProbe> {
  using R = analysis::RecordedProbe;
  static constexpr FieldList kList{
      field("node", &R::node, "node that ran the probe"),
      field("kind", &R::kind, "kind of the probe"),
      field("peer", &R::peer, "as the record has it").null_if_empty(),
      field("direction", &R::direction, "direction as seen from the node").null_if_empty(),
      computed<R>(
          "at", [](const R& probe) { return documents::WallTime{.ns = probe.wall_ns}; },
          "when it was measured; RFC 3339, UTC"),
      field("source", &R::source, "a row of the record"),
      field("values", &R::values, "values of the document"),
      field("lists", &R::lists, "lists of the document")};
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
      field("program", &R::program, "version of chokepoint that wrote the report"),
      field("summary", &R::summary, "summary of the run, without counts of rows"),
      field("diagnosis", &R::diagnosis, "the diagnosis with its evidence"),
      field("accounting", &R::accounting, "accounts of the time; null where they are unknown"),
      field("timeline", &R::timeline, "timeline of all nodes"),
      field("moments", &R::moments, "moments worth a closer reading"),
      field("flows", &R::flows, "connections of the job"),
      field("matrix", &R::matrix, "traffic between each pair of names"),
      field("hosts", &R::hosts, "hosts of the nodes"),
      field("paths", &R::paths, "paths, each direction and address family by itself"),
      field("probes", &R::probes,
            "what probes measured compared with the job, one line for each value"),
      field("recorded_probes", &R::recorded_probes,
            "all probes in the run, each with every value and list of its document"),
      field("missing", &R::missing, "what was not measured and why")};
};

}  // namespace chokepoint
