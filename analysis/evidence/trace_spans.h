// What profiler.h stores of a trace while it reads it, and trace_times.h makes a rank's times of.
// By the trace's own clock, which begins at `base_ns`. Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

struct TraceStep {
  std::uint64_t number = 0;
  Span span = {};
};

struct TraceCollective {
  std::uint32_t group = 0;
  Span span = {};
};

// Spans of one kind, of which only what they cover together counts: nested ones become one where
// there is no more room.
inline constexpr std::size_t kMaxTraceSpans = std::size_t{2} << 20;

struct TraceSpans {
  std::vector<TraceStep> steps = {};                 // of the processor's track
  std::vector<TraceStep> gpu_steps = {};             // of the GPU's
  Spans kernels = {};                                // none of NCCL's
  Spans operators = {};                              // on the processor, none of a collective
  Spans copies = {};                                 // between a GPU and its host
  Spans loading = {};                                // the program waits for its next batch
  std::vector<TraceCollective> on_gpu = {};          // NCCL's kernels
  std::vector<TraceCollective> on_processor = {};    // Gloo's, which has no kernels
  std::vector<std::string> groups = {};              // "0/allreduce"
  std::map<std::string, std::uint32_t> places = {};  // in `groups`
  std::optional<std::int64_t> rank = {};
  std::int64_t ranks = 0;  // of the job; 0: unknown
  std::string host = {};
  std::int64_t base_ns = 0;
  bool calls_gpu = false;
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;
};

}  // namespace chokepoint::analysis
