#include "analysis/phases/goodput.h"

#include <algorithm>

#include "base/math/statistics.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// Judgements: what is no longer than this is how steps differ.
constexpr double kLeastPauseSteps = 3;
constexpr double kLeastPauseNs = 5e8;
constexpr std::size_t kMostPauses = 8;  // of which each is kept

// Of a pause, by counters of all the job's nodes. Files: of the rate of the rest of the run, and at
// least so much; the network and processors: of what they do in the steps, and of one processor.
constexpr double kLeastFileRatio = 3;
constexpr double kLeastFileBytes = 1e6;
constexpr double kLeastExchangeRatio = 0.5;
constexpr double kLeastProcessors = 0.5;

double seconds(double ns) { return ns / 1e9; }

class Meanwhile {
 public:
  Meanwhile(const RunData& run, const Clocks& clocks, Span whole)
      : run_(run), clocks_(clocks), whole_(whole) {}

  PauseDoes does(Span pause) const {
    const double share =
        static_cast<double>(pause.length_ns()) / static_cast<double>(whole_.length_ns());
    const auto is_more = [&](std::string_view name) {
      const double bytes = grown(name, pause);
      return bytes >= kLeastFileBytes && bytes >= kLeastFileRatio * share * grown(name, whole_);
    };
    if (is_more(record::kJobWrittenBytes)) {
      return PauseDoes::WritesFiles;
    }
    if (is_more(record::kJobReadBytes)) {
      return PauseDoes::ReadsFiles;
    }
    const double sent = grown(record::kJobSentBytes, whole_);
    if (sent > 0 && grown(record::kJobSentBytes, pause) >= kLeastExchangeRatio * share * sent) {
      return PauseDoes::SendsData;
    }
    const double processors =
        grown(record::kProcessCpu, pause) / static_cast<double>(pause.length_ns());
    return processors >= kLeastProcessors * static_cast<double>(run_.nodes.size())
               ? PauseDoes::UsesProcessors
               : PauseDoes::NothingSeen;
  }

 private:
  double grown(std::string_view name, Span common) const {
    double sum = 0;
    for (std::size_t place = 0; place < run_.nodes.size(); ++place) {
      const Span own{clocks_.local_ns(place, common.start_ns),
                     clocks_.local_ns(place, common.end_ns)};
      for (const SeriesData* series : run_.nodes[place].find(name)) {
        sum += growth(*series, own).value_or(0);
      }
    }
    return sum;
  }

  const RunData& run_;
  const Clocks& clocks_;
  Span whole_;
};

std::optional<Span> whole_of(const RunData& run, const Clocks& clocks) {
  std::optional<Span> whole;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const Span own = run.nodes[place].span;
    if (own.length_ns() > 0) {
      const Span common{clocks.common_ns(place, own.start_ns), clocks.common_ns(place, own.end_ns)};
      whole = whole ? Span{std::min(whole->start_ns, common.start_ns),
                           std::max(whole->end_ns, common.end_ns)}
                    : common;
    }
  }
  return whole;
}

double usual_of(std::span<const Span> steps) {
  std::vector<double> lengths;
  for (const Span& step : steps) {
    lengths.push_back(static_cast<double>(step.length_ns()));
  }
  return math::median(lengths).value_or(0);
}

bool is_sync(const StepLine& steps, Span step) {
  return steps.rounds && std::ranges::any_of(steps.rounds->syncs, [&](const SyncSteps& sync) {
           return step.start_ns < sync.span.end_ns && step.end_ns > sync.span.start_ns;
         });
}

// What lies between steps, and the end of each step that takes far longer than a usual one. An
// exchange that comes every so many steps is none.
std::vector<Span> pauses_in(const StepLine& steps, double usual_ns) {
  const double least_ns = std::max(kLeastPauseNs, kLeastPauseSteps * usual_ns);
  const auto usual = static_cast<std::int64_t>(usual_ns);
  std::vector<Span> pauses;
  for (std::size_t at = 0; at < steps.all.size(); ++at) {
    const Span step = steps.all[at];
    const std::int64_t before_ns = at == 0 ? step.start_ns : steps.all[at - 1].end_ns;
    if (static_cast<double>(step.start_ns - before_ns) > least_ns) {
      pauses.push_back({before_ns, step.start_ns});
    }
    if (static_cast<double>(step.length_ns()) - usual_ns > least_ns && !is_sync(steps, step)) {
      pauses.push_back({step.start_ns + usual, step.end_ns});
    }
  }
  return pauses;
}

}  // namespace

std::optional<Goodput> goodput_of(const RunData& run, const Clocks& clocks, const StepLine& steps) {
  const auto whole = whole_of(run, clocks);
  if (steps.all.empty() || !whole) {
    return std::nullopt;
  }
  const Span covered{steps.all.front().start_ns, steps.all.back().end_ns};
  const Meanwhile meanwhile(run, clocks, *whole);
  Goodput goodput{
      .run_s = seconds(static_cast<double>(whole->length_ns())),
      .start_s = seconds(std::max(0.0, static_cast<double>(covered.start_ns - whole->start_ns))),
      .end_s = seconds(std::max(0.0, static_cast<double>(whole->end_ns - covered.end_ns)))};
  std::vector<Span> pauses = pauses_in(steps, usual_of(steps.all));
  goodput.pauses = static_cast<std::int64_t>(pauses.size());
  goodput.pauses_s = seconds(static_cast<double>(length_ns(pauses)));
  goodput.steps_s =
      std::max(0.0, goodput.run_s - goodput.start_s - goodput.end_s - goodput.pauses_s);
  std::ranges::stable_sort(pauses, std::ranges::greater(), &Span::length_ns);
  pauses.resize(std::min(pauses.size(), kMostPauses));
  for (const Span& pause : pauses) {
    goodput.longest.push_back(
        {.at_s = seconds(static_cast<double>(pause.start_ns - whole->start_ns)),
         .s = seconds(static_cast<double>(pause.length_ns())),
         .does = meanwhile.does(pause)});
  }
  return goodput;
}

}  // namespace chokepoint::analysis
