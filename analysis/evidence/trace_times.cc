#include "analysis/evidence/trace_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analysis/evidence/source.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxExposed = std::size_t{256} << 10;

Spans joined(const Spans& one, const Spans& other) {
  Spans all(one);
  all.insert(all.end(), other.begin(), other.end());
  return united(std::move(all));
}

Spans spans_of(const std::vector<TraceCollective>& collectives) {
  Spans spans;
  spans.reserve(collectives.size());
  std::ranges::transform(collectives, std::back_inserter(spans), &TraceCollective::span);
  return united(std::move(spans));
}

// Parts that are taken out of a window, one after the other.
class Window {
 public:
  explicit Window(Span span) : whole_(span) {}

  // What of these no earlier part covers.
  Spans take(const Spans& spans) {
    const Spans own = without(common_to(spans, std::span(&whole_, 1)), taken_);
    taken_ = joined(taken_, own);
    return own;
  }
  std::int64_t length_ns() const { return whole_.length_ns(); }

 private:
  Span whole_;
  Spans taken_;
};

TraceTime time_with_kernels(TraceSpans& trace, Span span) {
  Window window(span);
  TraceTime time{.has_kernels = true, .window_ns = window.length_ns()};
  time.computing_ns = length_ns(window.take(united(std::move(trace.kernels))));
  time.exposed = window.take(spans_of(trace.on_gpu.empty() ? trace.on_processor : trace.on_gpu));
  time.copying_ns = length_ns(window.take(united(std::move(trace.copies))));
  time.input_ns = length_ns(window.take(united(std::move(trace.loading))));
  return time;
}

TraceTime time_on_processor(TraceSpans& trace, Span span) {
  Window window(span);
  TraceTime time{.window_ns = window.length_ns()};
  time.input_ns = length_ns(window.take(united(std::move(trace.loading))));
  time.computing_ns = length_ns(window.take(united(std::move(trace.operators))));
  time.exposed = window.take(spans_of(trace.on_processor));
  return time;
}

TraceTime time_of(TraceSpans& trace, Span window) {
  const bool has_kernels = !trace.kernels.empty() || !trace.on_gpu.empty();
  TraceTime time =
      has_kernels ? time_with_kernels(trace, window) : time_on_processor(trace, window);
  time.exposed_ns = length_ns(time.exposed);
  time.exposed.resize(std::min(time.exposed.size(), kMaxExposed));
  return time;
}

// Which step it began in: those of the GPU's track, else of the processor's; 0 before the first.
std::uint64_t step_at(const std::vector<TraceStep>& steps, std::int64_t t_ns) {
  const auto after = std::ranges::upper_bound(
      steps, t_ns, {}, [](const TraceStep& step) { return step.span.start_ns; });
  return after == steps.begin() ? 0 : std::prev(after)->number + 1;
}

// A number that is the same at every rank: the step, and the place among the group's of that step.
void number_collectives(std::vector<TraceCollective>& collectives,
                        const std::vector<TraceStep>& steps, std::size_t groups,
                        std::vector<CollectiveTime>& into) {
  constexpr unsigned kPlaceBits = 24;
  std::ranges::stable_sort(collectives, {},
                           [](const TraceCollective& each) { return each.span.start_ns; });
  std::vector<std::uint64_t> place(groups, 0);
  std::uint64_t before = 0;
  for (const TraceCollective& each : collectives) {
    const std::uint64_t step = step_at(steps, each.span.start_ns);
    if (step != before) {
      std::ranges::fill(place, 0);
      before = step;
    }
    into.push_back({.group = each.group,
                    .number = step << kPlaceBits | (place[each.group]++ & ((1U << kPlaceBits) - 1)),
                    .start_ns = each.span.start_ns,
                    .length_ns = each.span.length_ns()});
  }
}

}  // namespace

ToolFile file_of_trace(TraceSpans trace, const std::string& file) {
  ToolFile evidence{.tool = Tool::Profiler, .file = file};
  RankRecord own{.rank = trace.rank ? trace.rank : rank_in_name(file, false),
                 .host = trace.host,
                 .world_size = trace.ranks};
  const auto start = [](const TraceStep& step) { return step.span.start_ns; };
  std::ranges::sort(trace.steps, {}, start);
  std::ranges::sort(trace.gpu_steps, {}, start);
  const std::vector<TraceStep>& gpu_steps = trace.gpu_steps.empty() ? trace.steps : trace.gpu_steps;
  const std::vector<TraceStep>& steps = trace.steps.empty() ? trace.gpu_steps : trace.steps;
  for (const TraceStep& step : steps) {
    own.steps.push_back({step.span.start_ns + trace.base_ns, step.span.end_ns + trace.base_ns});
    evidence.span.include(own.steps.back().start_ns, own.steps.back().end_ns);
  }
  const bool has_kernels = !trace.kernels.empty() || !trace.on_gpu.empty();
  const std::vector<TraceStep>& timed = has_kernels ? gpu_steps : steps;
  number_collectives(trace.on_gpu.empty() ? trace.on_processor : trace.on_gpu, gpu_steps,
                     trace.groups.size(), own.collectives);
  if (trace.calls_gpu && !has_kernels) {
    evidence.left_out.emplace_back(
        "has no kernels: the profiler watched processors alone (ProfilerActivity.CUDA)");
  } else if (!timed.empty() && timed.back().span.end_ns > timed.front().span.start_ns) {
    own.time = time_of(trace, {timed.front().span.start_ns, timed.back().span.end_ns});
    own.time->steps = timed.size();
  }
  own.groups = std::move(trace.groups);
  evidence.ranks.push_back(std::move(own));
  if (trace.left_out > 0) {
    evidence.left_out.push_back(
        fmt::format("{} spans were left out: a trace may have {}", trace.left_out, kMaxTraceSpans));
  }
  return evidence;
}

}  // namespace chokepoint::analysis
