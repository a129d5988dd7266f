#include "analysis/phases/overlap.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "analysis/phases/pipeline.h"
#include "analysis/phases/steps.h"
#include "base/math/statistics.h"
#include "base/math/training_pass.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// Thresholds of "Hidden behind computing" in docs/internals/attribution.md.
// A shorter gap holds no computing: the exchange was queued.
constexpr std::int64_t kMaxQueuedGapNs = 500'000;
constexpr double kMaxQueuedGapShare = 0.05;  // likewise, of the exchange before
// Of both directions: activations are rarely as large.
constexpr double kMinLargeBytes = 512 * 1024;
constexpr double kMaxSpreadRatio = 0.5;  // one spread to the other, to be clearly the smaller one
constexpr double kMinOfBytesBefore = 0.05;  // of the bytes of the exchange before
constexpr std::size_t kMinPairs = 8;
// Of the time in which nothing was under way, that the main thread must work.
constexpr double kMinProcessorShare = 0.5;
// Likewise in a pipeline, which has a model of its own.
constexpr double kMinProcessorShareOfStage = 0.6;
constexpr double kMinWorkBeside = 0.5;  // of the time beside exchanges, likewise

std::vector<StageGap> gaps_of(std::span<const Exchange* const> exchanges) {
  std::vector<StageGap> gaps;
  std::int64_t over_ns = 0;
  for (const Exchange* exchange : exchanges) {
    // Where a rank's arrival is not known, its computing before that is not known either.
    const bool is_known =
        exchange->is_ready_known || exchange->source != record::CollectiveSource::Gloo;
    const std::int64_t gap_ns = gaps.empty() || !is_known ? 0 : exchange->own_ready_ns - over_ns;
    const std::int64_t before_ns =
        gaps.empty() ? 0 : gaps.back().exchange->end_ns - gaps.back().exchange->all_ready_ns;
    const auto little_ns =
        static_cast<std::int64_t>(kMaxQueuedGapShare * static_cast<double>(before_ns));
    gaps.push_back({.exchange = exchange,
                    .gap_ns = std::max<std::int64_t>(gap_ns, 0),
                    .queued = !gaps.empty() && gap_ns < std::max(kMaxQueuedGapNs, little_ns)});
    over_ns = std::max(over_ns, exchange->end_ns);
  }
  return gaps;
}

// The length of a backward pass whose first bucket, with this share of the gradients, comes after a
// gap that also holds the forward pass.
double backward_of(double first_gap, double first_share) {
  return first_gap / (1 / math::kBackwardPerForward + first_share);
}

double exchanging_ns(const StageGap& gap) {
  return static_cast<double>(gap.exchange->end_ns - gap.exchange->all_ready_ns);
}

void model(Burst& burst, std::span<StageGap> gaps) {
  const double bytes = math::sum_by(gaps, [](const StageGap& gap) { return gap.exchange->bytes; });
  if (gaps.size() < 2 || bytes <= 0) {
    return;
  }
  const double first_share = gaps.front().exchange->bytes / bytes;
  const double backward_ns = backward_of(static_cast<double>(gaps.front().gap_ns), first_share);
  double before_last_ns = 0;
  for (std::size_t place = 0; place < gaps.size(); ++place) {
    gaps[place].pace_ns = place == 0 ? 0 : backward_ns * gaps[place].exchange->bytes / bytes;
    before_last_ns += place + 1 < gaps.size() ? exchanging_ns(gaps[place]) : 0;
  }
  burst.hidden_ns = std::min(backward_ns * (1 - first_share), before_last_ns);
}

Line line_of(std::span<const Exchange* const> collectives) {
  Line line{.gaps = gaps_of(collectives)};
  for (std::size_t place = 0; place < line.gaps.size(); ++place) {
    if (!line.gaps[place].queued) {
      line.bursts.push_back({.first = place});
    }
    ++line.bursts.back().count;
  }
  for (Burst& burst : line.bursts) {
    model(burst, std::span(line.gaps).subspan(burst.first, burst.count));
  }
  return line;
}

// How long a collective took, and the gap after it.
struct Pair {
  double took_ns = 0;
  double then_ns = 0;
};

double took_ns(const StageGap& gap) {
  return static_cast<double>(gap.exchange->end_ns - gap.exchange->own_ready_ns);
}

// The gaps of each step, by their place in it.
std::vector<std::vector<std::size_t>> by_step(const Line& line, const Spans& steps) {
  std::vector<std::vector<std::size_t>> places;
  std::size_t gap = 0;
  for (const Span& step : steps) {
    std::vector<std::size_t> own;
    for (; gap < line.gaps.size(); ++gap) {
      const std::int64_t ready_ns = line.gaps[gap].exchange->own_ready_ns;
      if (ready_ns >= step.end_ns) {
        break;
      }
      if (ready_ns >= step.start_ns) {
        own.push_back(gap);
      }
    }
    places.push_back(std::move(own));
  }
  return places;
}

// Whether the rank went on computing: then the sums of length and following gap are equal, else the
// gaps alone. nullopt if neither spread is clearly smaller.
std::optional<bool> went_on(const std::vector<Pair>& pairs) {
  std::vector<double> together;
  std::vector<double> alone;
  for (const Pair& pair : pairs) {
    together.push_back(pair.took_ns + pair.then_ns);
    alone.push_back(pair.then_ns);
  }
  const double of_both = math::median_absolute_deviation(together).value_or(0);
  const double of_then = math::median_absolute_deviation(alone).value_or(0);
  if (pairs.size() < kMinPairs || std::max(of_both, of_then) <= 0) {
    return std::nullopt;
  }
  if (of_both < kMaxSpreadRatio * of_then) {
    return true;
  }
  return of_then < kMaxSpreadRatio * of_both ? std::optional(false) : std::nullopt;
}

// The collectives at one place of the steps.
struct Place {
  std::vector<std::size_t> gaps = {};
  std::vector<Pair> pairs = {};
  double bytes = 0;
};

std::map<std::size_t, Place> places_of(const Line& line, const Spans& steps) {
  std::map<std::size_t, Place> places;
  for (const auto& own : by_step(line, steps)) {
    for (std::size_t place = 0; place + 1 < own.size(); ++place) {
      const StageGap& gap = line.gaps[own[place]];
      const StageGap& next = line.gaps[own[place + 1]];
      // Everything waits for the last of the gradients.
      if (!next.queued && next.exchange->bytes > kMinOfBytesBefore * gap.exchange->bytes) {
        places[place].gaps.push_back(own[place]);
        places[place].pairs.push_back({took_ns(gap), static_cast<double>(next.gap_ns)});
        places[place].bytes = std::max(places[place].bytes, gap.exchange->bytes);
      }
    }
  }
  return places;
}

// Of all places, each less its own medians.
std::vector<Pair> all_pairs(const std::map<std::size_t, Place>& places) {
  std::vector<Pair> all;
  for (const auto& [number, place] : places) {
    std::vector<double> took;
    std::vector<double> then;
    for (const Pair& pair : place.pairs) {
      took.push_back(pair.took_ns);
      then.push_back(pair.then_ns);
    }
    const Pair middle{math::median(took).value_or(0), math::median(then).value_or(0)};
    for (const Pair& pair : place.pairs) {
      all.push_back({pair.took_ns - middle.took_ns, pair.then_ns - middle.then_ns});
    }
  }
  return all;
}

// A thread that waits for a GPU's stream spins, so it looks as if the processor computed.
bool has_gpu(const NodeData& node) {
  return !node.find(record::kGpuUtilization).empty() ||
         node.has_collectives_of(record::CollectiveSource::Nccl) ||
         std::ranges::find(node.events, record::kGpuProcess, &record::Event::kind) !=
             node.events.end();
}

double worked_ns(const OverlapInput& input, std::size_t node, const SeriesData& thread) {
  double sum_ns = 0;
  for (const Span& span : united(input.steps)) {
    const Span local{input.clocks.local_ns(node, span.start_ns),
                     input.clocks.local_ns(node, span.end_ns)};
    sum_ns += growth(thread, local).value_or(0);
  }
  return sum_ns;
}

// Of threads, in a step.
struct Work {
  double ran_ms = 0;
  double waited_ms = 0;  // for a processor

  // The kernel also counts threads that a quota stops as waiting: that time is not work.
  double all_ms() const { return ran_ms + std::min(waited_ms, ran_ms); }
  Work& operator+=(const Work& other) {
    ran_ms += other.ran_ms;
    waited_ms += other.waited_ms;
    return *this;
  }
};

Work work_of(const OverlapInput& input, std::size_t node, const SeriesData& ran) {
  const SeriesData* waited = input.run.nodes[node].find(record::kThreadWait, ran.row.subject);
  const double to_ms = 1e-6 / input.count;
  return {.ran_ms = to_ms * worked_ns(input, node, ran),
          .waited_ms = waited == nullptr ? 0 : to_ms * worked_ns(input, node, *waited)};
}

// A process's threads by what they do.
struct Threads {
  Work main = {};
  Work polling = {};  // they hand data to the network and take it from there
  Work others = {};
};

// Of all processes of a node, by the process's number; subjects are "30189/python3 (epoll)".
std::map<std::string, Threads, std::less<>> threads_of(const OverlapInput& input,
                                                       std::size_t node) {
  std::map<std::string, Threads, std::less<>> processes;
  for (const SeriesData* ran : input.run.nodes[node].find(record::kThreadCpu)) {
    const std::string& subject = ran->row.subject;
    Threads& threads = processes[subject.substr(0, subject.find('/'))];
    Work& kind = subject.ends_with(" (main)")    ? threads.main
                 : subject.ends_with(" (epoll)") ? threads.polling
                                                 : threads.others;
    kind += work_of(input, node, *ran);
  }
  return processes;
}

// Of a node's main thread that ran longest.
Work main_work_of(const OverlapInput& input, std::size_t node) {
  Work most;
  for (const auto& [process, threads] : threads_of(input, node)) {
    most = threads.main.ran_ms > most.ran_ms ? threads.main : most;
  }
  return most;
}

Work main_work_of(const OverlapInput& input) {
  Work most;
  for (std::size_t node = 0; node < input.run.nodes.size(); ++node) {
    const Work work = main_work_of(input, node);
    most = work.ran_ms > most.ran_ms ? work : most;
  }
  return most;
}

bool is_on_processors(const RunData& run) { return std::ranges::none_of(run.nodes, has_gpu); }

bool is_any_message(const Exchanges& exchanges) {
  return std::ranges::any_of(
      exchanges, [](const auto& of_node) { return std::ranges::any_of(of_node, is_message); });
}

// Whether the main thread worked less than computing beside the marked exchanges would take. False
// where it sleeps while no exchange is under way: then the computing is done by another thread or a
// GPU, and its time does not show it.
bool worked_too_little(const Line& line, const Spans& steps, double worked) {
  double gaps_ns = 0;
  double beside_ns = 0;
  for (const StageGap& gap : line.gaps) {
    if (covers(steps, gap.exchange->own_ready_ns)) {
      gaps_ns += static_cast<double>(gap.gap_ns);
      beside_ns += gap.unwaited ? took_ns(gap) : 0;
    }
  }
  return worked > kMinProcessorShare * gaps_ns && worked - gaps_ns < kMinWorkBeside * beside_ns;
}

double hidden_of(const Line& line, const Spans& steps) {
  double hidden_ns = 0;
  for (const StageGap& gap : line.gaps) {
    hidden_ns += gap.unwaited && !gap.queued ? exchanging_ns(gap) : 0;
  }
  for (const Burst& burst : line.bursts) {
    const std::int64_t begin_ns = line.gaps[burst.first].exchange->own_ready_ns;
    hidden_ns += covers(steps, begin_ns) ? burst.hidden_ns : 0;
  }
  return hidden_ns;
}

// The backward pass, which alone can hide exchanges, is about twice the forward pass, and that is
// seen: nothing is under way meanwhile.
double most_hidden_ns(const Line& line, const Spans& steps) {
  double gaps_ns = 0;
  for (const StageGap& gap : line.gaps) {
    gaps_ns += covers(steps, gap.exchange->own_ready_ns) ? static_cast<double>(gap.gap_ns) : 0;
  }
  return math::kBackwardPerForward * gaps_ns;
}

// By the rank with the longest gaps: it waits for no other, so its gaps are its computing.
double collectives_ms(const OverlapInput& input) {
  double hidden_ns = 0;
  double most_gaps_ns = -1;
  for (const auto& of_node : input.exchanges) {
    for (Line& line : lines_of(of_node)) {
      mark_unwaited(line, input.steps);
      const double gaps_ns = math::sum_by(line.gaps, &StageGap::gap_ns);
      if (!line.gaps.empty() && gaps_ns > most_gaps_ns) {
        most_gaps_ns = gaps_ns;
        hidden_ns = std::min(hidden_of(line, input.steps), most_hidden_ns(line, input.steps));
      }
    }
  }
  return hidden_ns / 1e6 / input.count;
}

double sent_bytes(const RunData& run) {
  double most = 0;
  for (const Connection& connection : run.exchanging()) {
    for (const auto& end : connection.ends) {
      if (end) {
        for (const record::FlowTotal& total : run.flow(*end).totals) {
          most = std::max(most, static_cast<double>(total.payload_bytes.value_or(0)));
        }
      }
    }
  }
  return most;
}

double buckets_ms(const OverlapInput& input) {
  const double bytes = sent_bytes(input.run) / count_between(input.steps);
  const double first_share = bytes > 0 ? std::min(1.0, math::kBucketBytes / bytes) : 1;
  return backward_of(input.alone_ms, first_share) * (1 - first_share);
}

}  // namespace

std::vector<Line> lines_of(std::span<const Exchange> exchanges) {
  std::map<std::int64_t, std::vector<const Exchange*>> by_rank;
  for (const Exchange& exchange : exchanges) {
    if (!is_message(exchange)) {
      by_rank[exchange.rank].push_back(&exchange);
    }
  }
  std::vector<Line> lines;
  for (const auto& [rank, own] : by_rank) {
    lines.push_back(line_of(own));
  }
  return lines;
}

Worked main_worked(const OverlapInput& input) {
  Worked worked(input.run.nodes.size());
  for (std::size_t node = 0; node < worked.size(); ++node) {
    const Work work = has_gpu(input.run.nodes[node]) ? Work{} : main_work_of(input, node);
    if (work.ran_ms > 0) {
      worked[node] = work.all_ms() * 1e6 * input.count;
    }
  }
  return worked;
}

std::optional<double> worked_by(const Worked& worked, std::span<const Exchange> of_node) {
  const std::size_t node = of_node.empty() ? worked.size() : of_node.front().node;
  return node < worked.size() ? worked[node] : std::nullopt;
}

void mark_unwaited(Line& line, const Spans& steps, std::optional<double> worked_ns) {
  const std::map<std::size_t, Place> places = places_of(line, steps);
  const std::optional<bool> on_the_whole = went_on(all_pairs(places));
  for (const auto& [number, place] : places) {
    // Frameworks exchange large gradients while computing goes on, but not small activations.
    const bool is_usual = on_the_whole.value_or(place.bytes >= kMinLargeBytes);
    if (went_on(place.pairs).value_or(is_usual)) {
      for (const std::size_t gap : place.gaps) {
        line.gaps[gap].unwaited = true;
      }
    }
  }
  if (worked_ns && worked_too_little(line, steps, *worked_ns)) {
    for (StageGap& gap : line.gaps) {
      gap.unwaited = false;
    }
  }
}

double hidden_ms(const OverlapInput& input) {
  if (input.count <= 0 || input.steps.empty()) {
    return 0;
  }
  const Work work = is_on_processors(input.run) ? main_work_of(input) : Work{};
  const bool is_pipeline = is_any_message(input.exchanges);
  const double least = is_pipeline ? kMinProcessorShareOfStage : kMinProcessorShare;
  if (work.all_ms() > least * input.alone_ms) {
    return std::max(0.0, work.all_ms() - input.alone_ms);
  }
  if (is_pipeline) {
    const auto ideal_ns = ideal_step_ns(input.exchanges, input.steps);
    return ideal_ns ? std::max(0.0, *ideal_ns / 1e6 - input.alone_ms) : 0;
  }
  const bool is_any =
      std::ranges::any_of(input.exchanges, [](const auto& of_node) { return !of_node.empty(); });
  return is_any ? collectives_ms(input) : buckets_ms(input);
}

double exchange_work_ms(const OverlapInput& input) {
  if (input.count <= 0 || !is_on_processors(input.run)) {
    return 0;
  }
  double most_ms = 0;
  for (std::size_t node = 0; node < input.run.nodes.size(); ++node) {
    for (const auto& [process, threads] : threads_of(input, node)) {
      // Threads that run for longer than the main one compute with it.
      const bool computes = threads.others.ran_ms > threads.main.ran_ms;
      const double others_ms = computes ? 0 : threads.others.all_ms();
      most_ms = std::max(most_ms, threads.polling.all_ms() + others_ms);
    }
  }
  return most_ms;
}

}  // namespace chokepoint::analysis
