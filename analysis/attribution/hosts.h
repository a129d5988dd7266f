// What a host's counters show of a span: levels and growth of single series, its GPUs that work for
// the job, and whether the job's threads got the processors that they were ready for. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/findings.h"
#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Threads of the job that waited for a processor; a thread or a core that was never idle.
struct HostLoad {
  bool is_starved = false;    // the job's threads were ready and got no processor
  double waited_percent = 0;  // of the time, the thread that waited most
  std::string waiting_thread = {};
  double busiest_percent = 0;  // of one core, the busiest thread that moves data
  std::string busiest_thread = {};
  double softirq_percent = 0;  // of the core that receives most
  std::string softirq_core = {};

  bool is_at_limit() const;
  Cause cause() const;  // "softirq", "process-cpu"
};

HostLoad load_of(const NodeData& node, Span span);
// What keeps processor time from the job: processes of one name that are not the job's, or the
// quota of one of the job's cgroups.
struct Restraint {
  std::string name = {};
  double percent = 0;  // of a core
};
// Those that took most of the processors, the greatest first; none that took little.
std::vector<Restraint> cpu_consumers(const NodeData& node, Span span);
// The cgroup of the job that was held back longest by its processor quota; nullopt where none was.
std::optional<Restraint> throttled_cgroup(const NodeData& node, Span span);
// Adds the evidence for a host whose job got no processor: how long it waited, and for what.
void add_starvation(const NodeData& node, Span span, const HostLoad& load,
                    std::vector<Evidence>& evidence);

// Makes missing processor time the cause of a step full of computing, where other processes take
// it, a quota limits the job, or the job itself has more threads than processors. Returns what
// percent of the time the job waits.
double remark_processors(const DiagnosisInput& input, Verdict& computing);
// Of a job on one host, moves from computing the time in which neither its GPU nor its threads
// worked: they waited for input, a disk or a lock.
void add_idleness(const DiagnosisInput& input, Findings& findings);

// A fact of the host, the last one in the record; nullptr where there is none.
const record::Fact* fact_of(const NodeData& node, std::string_view category,
                            std::string_view subject, std::string_view key);
// Its value; empty where there is none.
std::string fact_text(const NodeData& node, std::string_view category, const std::string& subject,
                      std::string_view key);
// nullopt unless the whole text is a number from 0 to 1e18.
std::optional<double> fact_number(const NodeData& node, std::string_view category,
                                  const std::string& subject, std::string_view key);

// 0 where the host has no such counter: one that never changed is not in the record.
double grown(const NodeData& node, std::string_view name, std::string_view subject, Span span);
std::optional<double> last_level(const NodeData& node, std::string_view name,
                                 std::string_view subject);
// The GPUs on which processes of the job computed. A container's processes are not known to the
// driver by their numbers: if none is known and NCCL ran, the GPUs that were used.
std::set<std::string> job_gpus(const NodeData& node, Span span);

// A level's value, and how long within the span it held.
struct Held {
  Span span = {};
  double value = 0;
};
std::vector<Held> levels_over(const SeriesData& level, Span span);

// Upper bound of the share of time in which kernels ran on a GPU. The driver's utilisation counts
// copies, too; only GPM (Hopper and later) counts kernels alone.
double kernels_percent_of(const NodeData& node, std::string_view gpu, Span span);

std::optional<double> mean_over(const NodeData& node, std::string_view name,
                                std::string_view subject, Span span);

}  // namespace chokepoint::analysis
