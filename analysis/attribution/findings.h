// What a diagnosis is made of: the input, the findings, and the functions that add to them.
// inquire() calls them in the order in which they stand here; each is in the source that its group
// names. Everything is borrowed and lives as long as inquire() runs. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"

namespace chokepoint::analysis {

// The settled steps by a node's own clock; without any the whole of its session.
inline Span settled_span(const RunData& run, const Clocks& clocks, const StepLine& steps,
                         std::size_t node) {
  return steps.settled.empty() ? run.nodes[node].span
                               : Span{clocks.local_ns(node, steps.settled.front().start_ns),
                                      clocks.local_ns(node, steps.settled.back().end_ns)};
}

// The run on one clock, its steps, their phases, and what held the connections back.
struct DiagnosisInput {
  const RunData& run;
  const DiagnoseOptions& options;
  const Clocks& clocks;
  const StepLine& steps;
  const Phases& phases;
  const LimitTimeline& limit_timeline;

  Span span_of(std::size_t node) const { return settled_span(run, clocks, steps, node); }
};

inline DiagnosisInput input_of(const RunData& run, const DiagnoseOptions& options,
                               const Inquiry& inquiry) {
  return {.run = run,
          .options = options,
          .clocks = inquiry.clocks,
          .steps = inquiry.steps,
          .phases = inquiry.phases,
          .limit_timeline = *inquiry.limit_timeline};
}

// What took time of each step: into which account it goes, and verdicts without a share yet.
struct Findings {
  Accounting accounting = {};
  std::vector<Verdict> verdicts = {};
  double of_computing_ms = 0;        // of the accounts, what looked like computing
  std::vector<Evidence> hints = {};  // shown where no verdict can be given
};

// network.cc: what communication over sockets cost, by what limited it, and a verdict for each way
// in which the network, or a host at its end, held the job back.
Findings network_findings(const DiagnosisInput& input);

// rdma.cc: the same of a job whose data go by RDMA.
Findings rdma_findings(const DiagnosisInput& input);

// ranks.cc: the rank that comes late, unless a host without processor time is found already, which
// is then the cause of the lateness.
void add_late(const DiagnosisInput& input, Findings& findings);
// stall.cc: why the job makes no progress; nullopt of one that makes some.
std::optional<Verdict> stalled(const RunData& run, const Clocks& clocks);
// Diagnosis::pause; empty where steps end.
std::string pause_of(const RunData& run, const Clocks& clocks);
// input.cc: what all ranks wait for beside the network: their next batch, a file's data, a write.
void add_input(const DiagnosisInput& input, Findings& findings);
// Makes that the cause of a rank's lateness, if it is; returns whether.
bool explain_by_input(const DiagnosisInput& input, std::size_t node, std::int64_t rank,
                      bool is_periodic, Verdict& verdict);
// storage.cc: what a mount's storage did meanwhile, and what it can do where a probe measured it.
// `waits`: of the rank that waited to write there.
void add_reading(const DiagnosisInput& input, std::size_t node, const std::string& mount,
                 std::vector<Evidence>& evidence);
void add_writing(const DiagnosisInput& input, std::size_t node, const std::string& mount,
                 const SeriesData* waits, std::vector<Evidence>& evidence);
// Whether most of what was read there had been in memory shortly before.
bool is_read_again(const DiagnosisInput& input, std::size_t node, const std::string& mount);

// Whether a late rank may be late by chance; then it is not the verdict. Where the job itself fills
// the processors that it computes on, its ranks differ by a tenth of a step by which core they get
// and what shares it. And few steps, in some of which the rank was late and in others not, do not
// show whether that goes on.
bool is_chance(const DiagnosisInput& input, const Verdict& verdict);
// The same where the steps are too few for any other verdict.
bool is_undecided(const DiagnosisInput& input, const Verdict& verdict);
// Moves time from computing to a sending host that is among the findings already: a sender that
// gets no processor computes as slowly as it sends, and in the phases both look like computing. A
// receiver's wait does not count: it may wait while nothing is asked of it.
void add_starvation(const DiagnosisInput& input, Findings& findings);
// hosts.cc: makes missing processor time the cause of a step full of computing, where other
// processes take it, a quota limits the job, or the job itself has more threads than processors.
// Returns what percent of the time the job waits.
double remark_processors(const DiagnosisInput& input, Verdict& computing);
// ranks.cc: whose failure ended the job: one rank's, which took the others along, or that of all
// nodes.
std::optional<Verdict> early_end(const RunData& run);
// route.cc: of a job that failed on every node, whether it met over one address family and
// offered its peers addresses of the other, over which no data passed.
void explain_failure(const RunData& run, Verdict& verdict);
// Adds to the evidence of a job whose data do go over the other family.
void remark_family(const RunData& run, Verdict& verdict);

// gpu_copies.cc: moves time that copies between GPUs and their host took from computing to the PCIe
// account, and from waiting for a rank that came late because it copied for longer than the others;
// names the node where it is the most.
void add_gpu_copies(const DiagnosisInput& input, Findings& findings);

// What went by NVLink, beside computing: its exchanges are kernels, and look like that.
void remark_nvlink(const DiagnosisInput& input, Verdict& computing);

// hosts.cc: of a job on one host, moves from computing the time in which neither its GPU nor its
// threads worked: they waited for input, a disk or a lock.
void add_idleness(const DiagnosisInput& input, Findings& findings);

// network.cc: adds to each finding the part of NCCL's network waits that bears on it. It decides
// nothing: a wait for the own GPU is also one for its computing, one for credit also for a rank
// that has not come yet; and over sockets a receiver's back-pressure looks like the network.
void add_nccl_waits(const DiagnosisInput& input, Findings& findings);
// Gives a verdict of loss the cause that explains it better: an interface that went down, or a link
// that carried nothing for a while although no host saw it go.
void explain_loss(const DiagnosisInput& input, Verdict& verdict);

// judgement.cc: from findings to the verdict: the largest cause that a change could take away, the
// runners-up, and the confidence in both.
constexpr double kMattersPercent = 5;  // of the step; a smaller cause is not reported
void judge(const DiagnosisInput& input, Findings findings, Diagnosis& diagnosis);
// diagnose.cc: what a step would gain if a cause cost half, of the accounts that take enough of the
// step: the run replayed with the shares of each step's exchanges and computing that they have.
// Empty where the record does not permit a replay.
std::vector<WhatIf> what_ifs_of(const RunData& run, const Inquiry& inquiry,
                                const std::vector<StepAccounts>& steps);
// What to change, with the command to type, and what would show that the verdict is wrong.
void advise(const DiagnosisInput& input, Verdict& verdict);

}  // namespace chokepoint::analysis
