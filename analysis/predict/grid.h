// Several kinds of parallelism in one job, and a pipeline's time: which ranks are a group, on which
// hosts it is, and how many groups share a host's NICs. Ranks stand host by host. Of tp=2, dp=2,
// pp=2 on two hosts:
//
//            host 0               host 1
//   stage 0  (r0 r1)  (r2 r3)
//   stage 1                       (r4 r5)  (r6 r7)
//
//   tp   r0 r1 · r2 r3 · …        inside a host
//   dp   r0 r2 · r1 r3 · …        inside a host
//   pp   r0→r4 · r1→r5 · …        between hosts, four messages at once
//
// Values; pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/predict/job_profile.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// "tp=2,dp=4,pp=2", in any order; "zero1=4" to "zero3=4" and "fsdp=4" in place of "dp=4". An Error
// says what is wrong with it.
Result<Grid> parse_grid(std::string_view text);

// In the order in which ranks are counted.
std::string name_of(const Grid& grid);

// 1 to 3 of "zero1" to "zero3"; "fsdp" is 3, "zero" and all else 2.
int zero_stage_named(std::string_view name);

// Groups of so many ranks, each this many ranks after the one before.
Placement placement_of(double count, double stride, double ranks, double hosts);

PipelineProfile::Stages stages_of(const Grid& grid, double hosts);

// A pipeline's step: every stage computes each micro-batch of the step forward and backward, and
// waits while the pipeline fills and drains.
//
//   stage 0   F1 F2 F3 ·  ·  B3 B2 B1
//   stage 1   ·  F1 F2 F3 B3 B2 B1 ·
struct Pipeline {
  double stages = 1;
  double micro_batches = 1;
  double forward_ms = 0;      // of a stage, all micro-batches
  double backward_ms = 0;     // likewise; 0: there is no such pass
  double wire_ms = 0;         // that a micro-batch keeps a link between hosts busy
  double latency_ms = 0;      // that it takes beyond
  double hosts = 0;           // that the stages stand on, in order; 0: one each
  double inside_wire_ms = 0;  // between stages on one host
  double inside_latency_ms = 0;
  std::vector<bool> is_between = {};  // hosts, of each link; empty: as `hosts` says
};

// (p−1)/m of a stage's computing, with p stages and m micro-batches.
double bubble_ms(const Pipeline& pipeline);

// A stage neither computes while it sends nor while it receives.
double blocking_pipeline_ms(const Pipeline& pipeline);

// Links carry one micro-batch while the stages compute others.
double overlapped_pipeline_ms(const Pipeline& pipeline);

}  // namespace chokepoint::analysis
