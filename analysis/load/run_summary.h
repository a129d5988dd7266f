// What a run's records hold, in a few numbers: for `record show`, and as the head of every report.
// What no record has is empty, never 0. Values; reading takes as many threads as there are cores,
// and the caller waits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/record/reader.h"

namespace chokepoint::analysis {

struct Volume {
  std::optional<double> sent_bytes = {};
  std::optional<double> received_bytes = {};
};

// What an event of record::kDropped says that is missing; 0 where it does not say a number. Pure.
std::int64_t dropped_rows(const record::Event& event);

// Megabits a second, both ways together.
std::optional<double> full_duplex_mbps(const Volume& volume, std::optional<double> duration_s);

struct RunSummary;
// The throughput of a run wherever one number stands for it: that of the node that moved most.
std::optional<double> network_mbps(const RunSummary& run);

// Of the best source there is: marks, else the job's output, collectives, traffic.
struct Steps {
  std::optional<record::StepSource> source = {};
  std::int64_t count = 0;                                  // of the rank that has most
  std::vector<std::pair<double, double>> weighed_ms = {};  // duration, how many steps had it
};

// "marks" …, beside the names that other folders give to enums of their own.
using chokepoint::name_of;

std::optional<double> step_quantile_ms(const Steps& steps, double share);

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
  bool is_complete = false;          // its last session was ended, not cut off or still going on
  std::string why_without_end = {};  // for people, where it was not
  std::optional<double> duration_s = {};
  std::int64_t bytes = 0;  // of the file and its log
  std::vector<std::pair<std::string, std::int64_t>> rows = {};
  Volume volume = {};
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
  Steps steps = {};
  std::optional<double> overhead_percent = {};
  std::int64_t dropped = 0;
};

struct SummaryOptions {
  bool count_rows = true;  // of every table: goes through all of them
};

RunSummary summarize(record::Run& run, const SummaryOptions& options = {});

}  // namespace chokepoint::analysis
