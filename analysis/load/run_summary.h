// What a run's records hold, in a few numbers: for `record show`, and as the head of every report.
// What no record has is empty, never 0. Values; reading takes as many threads as there are cores,
// and the caller waits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/load/purposes.h"
#include "base/documents/values.h"
#include "base/record/reader.h"

namespace chokepoint::analysis {

// How much is missing by an event of record::kDropped; 0 where it has no number. Pure.
std::int64_t dropped_rows(const record::Event& event);

// Megabits a second, both ways together.
std::optional<double> full_duplex_mbps(const Volume& volume, std::optional<double> duration_s);

// Of the best source there is: marks, else the job's output, collectives, traffic.
struct Steps {
  std::optional<record::StepSource> source = {};
  std::int64_t count = 0;  // of the rank that has most
};

// A run has one time a step: that of the steps that are accounted for, where any are, else of all.
struct StepTimes {
  std::optional<record::StepSource> source = {};
  std::int64_t count = 0;    // of all
  std::int64_t settled = 0;  // of these, that the times are of
  std::optional<double> mean_ms = {};
  std::optional<double> median_ms = {};
  std::optional<double> p99_ms = {};
};

// "marks" …, beside the names that other folders give to enums of their own.
using chokepoint::name_of;

struct ProbeSummary {
  std::string kind = {};
  std::string peer = {};
  std::string direction = {};
  std::int64_t wall_ns = 0;
  std::string verdict = {};  // empty where its document gives none
};

struct NodeSummary {
  std::string name = {};
  std::string file = {};
  std::string host = {};
  std::string kernel = {};
  std::string program = {};
  std::string command = {};
  std::optional<std::int64_t> exit_status = {};
  std::size_t sessions = 0;
  std::size_t ranks = 0;             // of the job, on this node
  std::int64_t began_wall_ns = 0;    // by its host's clock; 0: no session
  bool is_complete = false;          // its last session was ended, not cut off or still going on
  std::string why_without_end = {};  // for people, where it was not
  std::optional<double> duration_s = {};
  std::int64_t bytes = 0;  // of the file and its log
  std::map<std::string, std::int64_t> rows = {};
  Volume volume = {};
  std::vector<PurposeVolume> purposes = {};  // what the volume was for; empty: not known
  Steps steps = {};
  std::optional<double> overhead_percent = {};  // of one core
  std::int64_t dropped = 0;
  std::vector<ProbeSummary> probes = {};
  std::vector<record::Event> events = {};
  std::optional<Error> damage = {};
};

struct RunSummary {
  std::string command = {};
  std::optional<std::int64_t> exit_status = {};  // the first that is not 0, else 0
  std::map<std::string, std::string> labels = {};
  std::vector<NodeSummary> nodes = {};
  std::vector<Error> unreadable = {};
  std::optional<double> duration_s = {};  // the longest node's: hosts' clocks need not agree
  Volume volume = {};
  std::vector<PurposeVolume> purposes = {};
  StepTimes steps = {};  // the diagnosis's; summarize() knows none
  std::optional<double> overhead_percent = {};
  std::int64_t dropped = 0;
};

struct SummaryOptions {
  bool count_rows = true;  // of every table: goes through all of them
};

RunSummary summarize(record::Run& run, const SummaryOptions& options = {});

// The throughput of a run wherever one number stands for it: that of the node that moved most.
std::optional<double> network_mbps(const RunSummary& run);

// Parts of the chokepoint.run/1 document that follow from several figures.

struct ShownVolume {
  Volume volume = {};
  std::vector<PurposeVolume> purposes = {};
  std::optional<double> full_duplex_mbps = {};
};

struct ShownRunVolume {
  ShownVolume volume = {};
  std::optional<double> network_mbps = {};
};

struct ShownOverhead {
  std::optional<double> cpu_percent = {};
};

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct Fields<analysis::Steps> {
  using S = analysis::Steps;
  static constexpr FieldList kList{
      computed<S>(
          "count",
          [](const S& steps) { return steps.source ? std::optional(steps.count) : std::nullopt; },
          "number of steps; null: none were found")
          .at_least(0),
      field("source", &S::source, "how steps were found")};
};

template <>
struct Fields<analysis::StepTimes> {
  using S = analysis::StepTimes;
  static constexpr FieldList kList{
      computed<S>(
          "count", [](const S& s) { return s.source ? std::optional(s.count) : std::nullopt; },
          "number of steps; null: none were found"),
      field("settled", &S::settled,
            "number of steps in these times: without the first ones, and without steps whose parts "
            "are not all known")
          .at_least(0),
      field("mean_ms", &S::mean_ms, "mean of the step times; the accounts sum to it").at_least(0),
      field("median_ms", &S::median_ms, "median of the step times").at_least(0),
      field("p99_ms", &S::p99_ms, "99 % of the steps took no longer").at_least(0),
      field("source", &S::source, "how steps were found")};
};

template <>
struct Fields<analysis::Volume> {
  using V = analysis::Volume;
  static constexpr FieldList kList{
      field("sent_bytes", &V::sent_bytes, "bytes that the job sent").at_least(0),
      field("received_bytes", &V::received_bytes, "bytes that the job received").at_least(0)};
};

template <>
struct Fields<analysis::PurposeVolume> {
  using P = analysis::PurposeVolume;
  static constexpr FieldList kList{
      field("purpose", &P::purpose, "what the connections are for"),
      computed<P>(
          "words", [](const P& each) { return std::string(traffic::sentence_of(each.purpose)); },
          "the same for people"),
      spread(&P::volume),
      field("connections", &P::connections, "number of connections").at_least(0)};
};

template <>
struct Fields<analysis::ShownVolume> {
  using V = analysis::ShownVolume;
  static constexpr FieldList kList{
      spread(&V::volume),
      field("purposes", &V::purposes,
            "what these bytes were for, by connection; they sum to it; empty where packets were "
            "not captured"),
      field("network_mbps_full_duplex", &V::full_duplex_mbps,
            "both directions together over the duration, 10^6 bit/s")
          .at_least(0)};
};

template <>
struct Fields<analysis::ShownRunVolume> {
  using V = analysis::ShownRunVolume;
  static constexpr FieldList kList{
      spread(&V::volume),
      field("network_mbps", &V::network_mbps,
            "rate of the node that sent and received most, both directions together, 10^6 bit/s")
          .at_least(0)};
};

template <>
struct Fields<analysis::ShownOverhead> {
  static constexpr FieldList kList{field("cpu_percent", &analysis::ShownOverhead::cpu_percent,
                                         "share of one core that chokepoint's own work took")
                                       .at_least(0)};
};

template <>
struct Fields<analysis::ProbeSummary> {
  using P = analysis::ProbeSummary;
  static constexpr FieldList kList{
      field("kind", &P::kind, "doctor, tcp …"),
      field("peer", &P::peer, "the other end").null_if_empty(),
      field("direction", &P::direction, "direction as seen from this node").null_if_empty(),
      computed<P>(
          "at", [](const P& probe) { return documents::WallTime{.ns = probe.wall_ns}; },
          "when it was measured; RFC 3339, UTC"),
      field("verdict", &P::verdict, "verdict of the probe's document").null_if_empty()};
};

template <>
struct Fields<analysis::NodeSummary> {
  using N = analysis::NodeSummary;
  static constexpr FieldList kList{
      field("name", &N::name, "name of the node in its record"),
      field("host", &N::host, "on which it ran").null_if_empty(),
      field("file", &N::file, "file of the record"),
      field("kernel", &N::kernel, "kernel of the host").null_if_empty(),
      field("program", &N::program, "program that wrote the record").null_if_empty(),
      field("sessions", &N::sessions, "number of sessions of chokepoint"),
      field("complete", &N::is_complete, "the record has an end"),
      computed<N>(
          "damage",
          [](const N& node) { return node.damage ? describe(*node.damage) : std::string(); },
          "why the record could be read only in part")
          .null_if_empty(),
      field("exit_status", &N::exit_status, "exit status of the job on this node"),
      field("duration_s", &N::duration_s, "seconds that were recorded").at_least(0),
      field("bytes", &N::bytes, "size of the file").at_least(0),
      field("rows", &N::rows, "rows of each table; empty in a report").at_least(0),
      field("steps", &N::steps, "number of steps of the rank that has most"),
      computed<N>(
          "volume",
          [](const N& node) {
            return analysis::ShownVolume{
                .volume = node.volume,
                .purposes = node.purposes,
                .full_duplex_mbps = analysis::full_duplex_mbps(node.volume, node.duration_s)};
          },
          "data that the job sent and received"),
      computed<N>(
          "overhead",
          [](const N& node) {
            return analysis::ShownOverhead{.cpu_percent = node.overhead_percent};
          },
          "cost of chokepoint's own work"),
      field("probes", &N::probes, "probes kept in the record"),
      field("dropped", &N::dropped, "number of rows that were not written").at_least(0)};
};

template <>
struct Fields<analysis::RunSummary> {
  using R = analysis::RunSummary;
  static std::vector<std::string> unreadable(const R& run) {
    std::vector<std::string> lines;
    for (const Error& error : run.unreadable) {
      lines.push_back(describe(error));
    }
    return lines;
  }
  static analysis::ShownRunVolume volume(const R& run) {
    return {.volume = {.volume = run.volume,
                       .purposes = run.purposes,
                       .full_duplex_mbps = analysis::full_duplex_mbps(run.volume, run.duration_s)},
            .network_mbps = analysis::network_mbps(run)};
  }
  static constexpr std::string_view kSchema = "chokepoint.run/1";
  static constexpr const char* kCommand = "record show";
  static constexpr FieldList kList{
      field("command", &R::command, "command line of the job").null_if_empty(),
      field("exit_status", &R::exit_status,
            "the first exit status that is not 0, else 0; null: not known"),
      field("labels", &R::labels, "labels of the run"),
      field("nodes", &R::nodes, "nodes with a record"),
      computed<R>("unreadable", unreadable, "files that could not be read, and why"),
      field("duration_s", &R::duration_s, "seconds of the node that ran longest").at_least(0),
      field("steps", &R::steps, "steps as the diagnosis has them"),
      computed<R>("volume", volume, "sums over all nodes"),
      computed<R>(
          "overhead",
          [](const R& run) { return analysis::ShownOverhead{.cpu_percent = run.overhead_percent}; },
          "cost of chokepoint's own work on the node where it is highest"),
      field("dropped", &R::dropped, "number of rows that were not written").at_least(0)};
};

}  // namespace chokepoint
