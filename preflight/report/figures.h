// The parts of chokepoint.preflight/1 that its writer (document.cc) and its reader (reading.cc)
// share. No I/O.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/output.h"
#include "base/control/message.h"
#include "base/sys/error.h"
#include "preflight/judge/judge.h"
#include "preflight/report/finding_text.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

// A figure of pairs or of ways, by its name in the document. Between a thousand hosts there are
// half a million pairs, so the document has one list for each figure.
template <class T>
struct FigureColumn {
  const char* name;
  Figure T::* figure;
  bool may_be_negative = false;
};

inline constexpr std::array<FigureColumn<PairResult>, 6> kPairColumns{
    {{"rtt_ms", &PairResult::rtt_ms},
     {"rtt_p99_ms", &PairResult::rtt_p99_ms},
     {"rtt_min_ms", &PairResult::rtt_min_ms},
     {"clock_offset_ms", &PairResult::clock_offset_ms, true},
     {"clock_uncertainty_ms", &PairResult::clock_uncertainty_ms},
     {"rdma_latency_us", &PairResult::rdma_latency_us}}};

inline constexpr std::array<FigureColumn<PathResult>, 13> kPathColumns{
    {{"tcp_mbps", &PathResult::tcp_mbps},
     {"alone_mbps", &PathResult::alone_mbps},
     {"together_mbps", &PathResult::together_mbps},
     {"retransmitted_percent", &PathResult::retransmitted_percent},
     {"window_share", &PathResult::window_share},
     {"send_buffer_share", &PathResult::send_buffer_share},
     {"largest_window_bytes", &PathResult::largest_window_bytes},
     {"sender_cpu_percent", &PathResult::sender_cpu_percent},
     {"receiver_cpu_percent", &PathResult::receiver_cpu_percent},
     {"mtu_bytes", &PathResult::mtu_bytes},
     {"black_hole_bytes", &PathResult::black_hole_bytes},
     {"hops", &PathResult::hops},
     {"rdma_mbps", &PathResult::rdma_mbps}}};

std::unexpected<Error> malformed(std::string_view subject, std::string_view reason);

// With as few digits as identify the figure, because there may be a million of them: read back it
// is the same. Null if it was not measured or is not a number.
cli::Json json_of(const Figure& figure);

// A share, with three decimals.
cli::Json json_of_share(const Figure& share);

// A list for each figure, one entry a pair, null if it was not measured; null instead of a list if
// it was measured nowhere:
// {"count", "a": […], "b": […], "rtt_ms": […], …, "there": {"tcp_mbps": […], …}, "back": {…}}
cli::Json json_of_pairs(const Measured& measured);
cli::Json schema_of_pairs();

// Pairs among so many hosts, by a, then b, each at most once; else Malformed.
Result<std::vector<PairResult>> pairs_in(const cli::Json& json, std::size_t hosts);

// The answers to lookups of the hosts' names. Nearly all hosts get the same, so each answer is
// listed once, with the hosts that got it:
//   [{"asked": 3, "addresses": ["10.0.0.3"], "error": null, "by": [0, 1, 2]}, …]
cli::Json json_of_names(const std::vector<HostResult>& hosts);
cli::Json schema_of_names();

// Sets each host's answers, in the order of the hosts that were asked for.
Result<> read_names(const cli::Json& document, std::vector<HostResult>& hosts);

inline constexpr std::size_t kMaxDocumentNameBytes = 1024;
inline constexpr std::size_t kMaxFlowsOfMember = 256;

using PathEnds = std::vector<std::vector<HostIndex>>;  // [[from, to], …]
PathEnds ends_of(const CutResult& cut);
PathEnds ends_of(const Finding& finding);

}  // namespace chokepoint::preflight

namespace chokepoint {

template <>
struct Fields<preflight::HostResult> {
  using H = preflight::HostResult;
  static constexpr FieldList kList{
      field("name", &H::name, "as it was given").up_to_bytes(preflight::kMaxDocumentNameBytes),
      field("address", &H::address, "where its agent was reached, and where it was tested")
          .up_to_bytes(preflight::kMaxDocumentNameBytes)
          .null_if_empty(),
      field("presence", &H::presence, "how far the host took part"),
      field("error", &H::error, "why the host did not take part"),
      field("lost_during", &H::lost_during, "what was under way when it was lost").null_if_empty(),
      field("program", &H::program, "version of the host's chokepoint")
          .up_to_bytes(preflight::kMaxDocumentNameBytes)
          .null_if_empty(),
      computed<H>("link_mbps", preflight::link_mbps,
                  "Mb/s of the interface with that address: the smaller of its link's and its PCIe "
                  "slot's rate"),
      field("facts", &H::facts, "what its agent reported of its hardware and settings"),
      field("doctor", &H::doctor, "what 'chokepoint doctor' found there").or_default()};
};

template <>
struct Fields<preflight::Trouble> {
  using T = preflight::Trouble;
  static constexpr FieldList kList{
      field("a", &T::a, "the two hosts, by their places in `hosts`"), field("b", &T::b, ""),
      field("test", &T::test, "which test failed").up_to_bytes(preflight::kMaxDocumentNameBytes),
      field("error", &T::error, "why the test failed").or_default()};
};

template <>
struct Fields<preflight::CutResult> {
  using C = preflight::CutResult;
  static constexpr double kMaxMbps = 1e12;
  static constexpr FieldList kList{
      field("left", &C::left, "the hosts of one group").or_default(),
      field("right", &C::right, "the hosts of the other group").or_default(),
      computed<C>(
          "ways", [](const C& cut) { return preflight::ends_of(cut); },
          "who sent to whom at the same time"),
      field("together_mbps", &C::together_mbps, "Mb/s, all paths added up, while all were on")
          .between(0, kMaxMbps),
      field("alone_mbps", &C::alone_mbps, "the same paths, each tested by itself, added up")
          .between(0, kMaxMbps)};
};

template <>
struct Fields<preflight::BadMember> {
  using B = preflight::BadMember;
  static constexpr double kMax = 1e12;
  static constexpr FieldList kList{
      field("fault", &B::fault, "fault that the flows share"),
      field("from", &B::from, "the host that sends them, by its place in `hosts`"),
      field("to", &B::to, "the host that receives them"),
      field("loss_percent", &B::loss_percent, "loss of these flows").between(0, 100),
      field("others_loss_percent", &B::others_loss_percent, "loss of the other flows")
          .between(0, 100),
      field("later_ms", &B::later_ms, "delay beyond the fastest flows").between(0, kMax),
      field("rate_mbps", &B::mbps, "Mb/s of one of these flows alone").between(0, kMax),
      field("others_rate_mbps", &B::others_mbps, "Mb/s of one of the others").between(0, kMax),
      field("flows", &B::flows, "flows that take the path"),
      field("of_flows", &B::of_flows, "number of all flows sent"),
      field("one_of_members", &B::one_of, "estimated number of parallel links"),
      field("source_ports", &B::ports, "source ports of these flows, at the host that sent them")
          .up_to_items(preflight::kMaxFlowsOfMember),
      field("router", &B::router, "router that only these flows pass")
          .up_to_bytes(preflight::kMaxDocumentNameBytes)
          .null_if_empty()};
};

template <>
struct Fields<preflight::BundleResult> {
  using B = preflight::BundleResult;
  static constexpr FieldList kList{
      field("asked", &B::asked, "host that sent the flows, by its place in `hosts`"),
      field("peer", &B::peer, "the host that answered"),
      field("verdict", &B::verdict, "verdict on loss and delay: found, alike or unknown")
          .up_to_bytes(preflight::kMaxDocumentNameBytes),
      field("bad", &B::bad, "parallel links that are worse than the rest").or_default()};
};

template <>
struct Fields<preflight::CollectiveResult> {
  using C = preflight::CollectiveResult;
  static constexpr double kMax = 1e12;
  static constexpr FieldList kList{
      field("backend", &C::backend, "gloo")
          .up_to_bytes(preflight::kMaxDocumentNameBytes)
          .or_default(),
      field("ranks", &C::ranks, "how many hosts took part").at_least(0),
      field("bytes", &C::bytes, "bytes of each rank").at_least(0),
      field("bus_mbps", &C::bus_mbps, "bus bandwidth, Mb/s").between(0, kMax),
      field("time_us", &C::time_us, "median time of an operation, microseconds").between(0, kMax),
      field("error", &C::error, "why the test failed")};
};

template <>
struct Fields<preflight::Finding> {
  using F = preflight::Finding;
  static constexpr FieldList kList{
      spread(&F::check), field("place", &F::place, "what kind of place is at fault"),
      field("hosts", &F::hosts, "hosts at fault, by their places in `hosts`"),
      computed<F>(
          "ways", [](const F& finding) { return preflight::ends_of(finding); },
          "directions at fault: [from, to]"),
      field("evidence", &F::evidence, "figures that show the fault")};
};

// Without `names` and `pairs`, which stand for many values each: json_of_names, json_of_pairs.
template <>
struct Fields<preflight::Measured> {
  using M = preflight::Measured;
  static constexpr FieldList kList{
      field("program", &M::program, "version of the chokepoint that coordinated the tests")
          .up_to_bytes(preflight::kMaxDocumentNameBytes),
      field("plan", &M::plan, "quick, default or thorough")
          .up_to_bytes(preflight::kMaxDocumentNameBytes),
      field("seed", &M::seed, "which pairs a sample has").at_most(kMaxCount).or_default(),
      field("sampled", &M::is_sampled, "whether only a sample of the pairs was tested"),
      field("interrupted", &M::was_interrupted, "whether it ended before all was measured"),
      field("duration_s", &M::duration_s, "seconds that it took").between(0, 1e9),
      field("left_out", &M::left_out, "what was not tested, and why").or_default(),
      field("hosts", &M::hosts, "each host that was named").or_default(),
      field("troubles", &M::troubles, "tests that failed").or_default(),
      field("cuts", &M::cuts, "many pairs at the same time, across a cut").or_default(),
      field("bundles", &M::bundles, "many flows between two hosts, compared").or_default(),
      field("collective", &M::collective, "a collective operation over all hosts")};
};

}  // namespace chokepoint
