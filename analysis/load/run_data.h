// The contents of a run's records in memory, for the analysis: rows as they were written, put in
// order and joined, nothing judged. Filled by load_run(), read-only afterwards, so any thread may
// read it.
//
//   load_run()   on as many threads as there are cores, the caller waits:
//                  node_loader.h   all but samples ── sample_plan.h   which samples are read
//                  node_loader.h   samples         ── connections.h   flows of both ends joined
//
// Times are each node's own monotonic clock; timeline/clocks.h makes one clock of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/load/purposes.h"
#include "base/record/reader.h"

namespace chokepoint::analysis {

using record::Span;

// Of a counter or a gauge; how to read them: docs/internals/run-counters.md.
struct Reading {
  std::int64_t t_ns = 0;
  std::int64_t bin_ns = 0;
  double value = 0;
  double peak = 0;
};

struct SeriesData {
  record::Series row = {};
  std::vector<Reading> readings = {};
};

struct Interface {
  std::string name = {};
  std::string kind = {};  // "physical", "virtual", "loopback" … as base/host reports it
  bool is_up = false;
  std::optional<double> speed_mbps = {};
  std::vector<std::string> addresses = {};  // with the length of the prefix: "10.0.0.1/24"
};

// One connection as one node saw it.
struct FlowData {
  record::Flow row = {};
  std::array<record::FlowTotal, 2> totals = {};  // by Direction
  std::array<std::vector<record::FlowSample>, 2> packets = {};
  std::array<std::vector<record::SocketSample>, 2> sockets = {};
  std::array<std::vector<record::FlowMark>, 2> marks = {};
  bool is_turned = false;  // a is the record's b
};

struct NodeData {
  std::string name = {};
  std::string host = {};
  std::string boot_id = {};
  std::string command = {};
  std::optional<std::int64_t> exit_status = {};
  bool is_complete = false;          // the watching ended cleanly
  std::string why_without_end = {};  // for people, where it did not
  bool is_capture = false;           // of packets alone: 'chokepoint capture --record'
  // Has no record of its own: what a capture at another host shows. Its connections have no
  // samples.
  bool is_inferred = false;
  Span span = {};                  // of the session that watched the job
  std::int64_t wall_start_ns = 0;  // span.start_ns by the wall clock
  // If the record is too large to be read whole: the spans of which samples were read, the same
  // moments of all nodes. Everything else (flows, totals, events, facts, steps, small tables of
  // samples) is whole.
  std::vector<Span> windows = {};
  std::map<std::string, std::string> labels = {};
  std::vector<record::Fact> facts = {};
  std::vector<Interface> interfaces = {};
  std::vector<record::Process> processes = {};  // of the job; those with a rank first
  std::vector<FlowData> flows = {};
  std::vector<SeriesData> series = {};
  std::vector<record::Step> steps = {};  // of every source, in order
  std::vector<record::Collective> collectives = {};
  std::vector<record::Event> events = {};
  std::vector<record::Probe> probes = {};
  // Of those that the record does not hold (given_probes.h) the files, by their ids, which are
  // below zero.
  std::map<std::int64_t, std::string> given_probes = {};
  std::vector<record::ClockOffset> clock_offsets = {};
  std::optional<Error> damage = {};

  const SeriesData* find(std::string_view name, std::string_view subject) const;
  bool has_collectives_of(record::CollectiveSource source) const;
  std::vector<const SeriesData*> find(std::string_view name) const;
  const Interface* interface(std::string_view name) const;
  std::optional<std::int64_t> rank() const;  // of its only rank; nullopt if it has several
};

// Where a connection lies in RunData: nodes[node].flows[flow].
struct FlowPlace {
  std::size_t node = 0;
  std::size_t flow = 0;
};

// A connection of the job with all that its two ends saw; an end that left no record is empty.
// If both ends are on one node, they are one place. a and b are the same ends in all three rows: if
// the second node had them the other way round, its FlowData is turned.
struct Connection {
  std::array<std::optional<FlowPlace>, 2> ends = {};  // at a's node, at b's; a and b as in `row`
  std::array<std::optional<std::int64_t>, 2> ranks = {};
  std::array<std::string, 2> names = {};  // node's name, or the address of one that left no record
  traffic::Purpose purpose = traffic::Purpose::Unknown;
  bool is_exchange = true;  // false: data, checkpoints or weights, beside connections that are
  record::Flow row = {};    // as the end that has one recorded it
};

struct RunData {
  std::vector<NodeData> nodes = {};          // by name
  std::vector<Connection> connections = {};  // that carried the job's data between hosts or ranks
  RankPlaces ranks = {};
  std::vector<Error> unreadable = {};
  // What the data lack for a sure result, a line each for people: "no packets were captured on b".
  std::vector<std::string> missing = {};

  // Connections by which ranks compute.
  auto exchanging() const { return std::views::filter(connections, &Connection::is_exchange); }
  const FlowData& flow(const FlowPlace& place) const { return nodes[place.node].flows[place.flow]; }
};

// How many samples are read, of all sample tables together, before windows of them.
struct LoadLimits {
  std::size_t samples_of_node = 100'000;
  std::size_t samples_of_run = 160'000;  // shared by its nodes
  std::size_t fewest_of_node = 10'000;   // however many share

  std::size_t of_each(std::size_t nodes) const {
    const std::size_t share = samples_of_run / std::max<std::size_t>(nodes, 1);
    return std::min(samples_of_node, std::max(fewest_of_node, share));
  }
};

RunData load_run(record::Run& run, const LoadLimits& limits = {});

// Of the job's ranks those whose node left no record: "rank 1, 3 of 4"; empty if all did.
std::string absent_ranks(const RunData& run);

// Of a counter: its growth between two moments, by straight lines between readings, held at both
// ends. nullopt without any reading.
std::optional<double> growth(const SeriesData& series, Span span);
// Of the time for which it was recorded, the share in which some task of the host waited for a
// core; 0 where the kernel does not report it.
double core_wait_share(const NodeData& node);
// Of a gauge: its mean over the span, and the most in it.
std::optional<double> mean_level(const SeriesData& series, Span span);
std::optional<double> most_level(const SeriesData& series, Span span);

// The names of a record's codes; empty for a code that this version does not know.
std::string_view word_of(record::Direction direction);            // "a_to_b"
std::string_view word_of(record::SeriesKind kind);                // "counter"
std::string_view word_of(record::StepSource source);              // "marks"
std::string_view word_of(record::CollectiveKind kind);            // "all-reduce"
std::string_view word_of(record::CollectiveSource source);        // "gloo"
std::string_view word_of(record::CollectiveAlgorithm algorithm);  // "ring"
std::string_view word_of(record::CollectiveProtocol protocol);    // "simple"

// A connection on which nothing gets through for longer, although something is under way, is
// stalled: docs/internals/attribution.md, "Phases" and "Limits".
inline constexpr std::int64_t kStallNs = 100'000'000;

// The shortest round trip of FlowSamples or SocketSamples; 0 if none has one.
template <class Row>
std::int64_t least_rtt_us(const std::vector<Row>& samples) {
  std::int64_t least_us = 0;
  for (const Row& sample : samples) {
    const std::int64_t rtt_us = sample.min_rtt_us.value_or(0);
    least_us = rtt_us > 0 && (least_us == 0 || rtt_us < least_us) ? rtt_us : least_us;
  }
  return least_us;
}

// Of two such figures the smaller that is known.
template <class T>
T lesser_rtt_us(T one, T other) {
  return one == 0 || other == 0 ? one + other : (one < other ? one : other);
}

// A message is a Send at one rank and a Receive at the other; this is Send for both, so that the
// two rows compare equal.
inline record::CollectiveKind kind_at_both(record::CollectiveKind kind) {
  return kind == record::CollectiveKind::Receive ? record::CollectiveKind::Send : kind;
}

}  // namespace chokepoint::analysis
