#include "analysis/phases/pipeline.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "base/math/statistics.h"

namespace chokepoint::analysis {

namespace {

using record::CollectiveKind;

// Judgements. The quantile of a stage's computing at which nothing disturbs it:
constexpr double kUndisturbedQuantile = 0.1;
// Of the largest message: smaller ones are leftovers of others.
constexpr double kMaxLeftoverMessage = 0.02;

std::vector<const Exchange*> of_kind(const std::vector<Exchange>& exchanges, CollectiveKind kind) {
  std::vector<const Exchange*> found;
  for (const Exchange& exchange : exchanges) {
    if (exchange.kind == kind) {
      found.push_back(&exchange);
    }
  }
  return found;
}

// What a stage needs for a message that it sends: from its other neighbour the one of the same
// number, if numbers are known; at an end of the pipeline all that it has received.
class Needs {
 public:
  explicit Needs(const std::vector<Exchange>& exchanges)
      : received_(of_kind(exchanges, CollectiveKind::Receive)) {
    std::ranges::sort(received_, {}, &Exchange::end_ns);
  }

  std::int64_t met_ns(const Exchange& sent) {
    for (; next_ < received_.size() && received_[next_]->end_ns <= sent.own_ready_ns; ++next_) {
      const Exchange& received = *received_[next_];
      if (received.connection >= 0) {
        latest_[received.number][received.connection] = received.end_ns;
      }
      last_ns_ = received.end_ns;
    }
    std::int64_t met_ns = 0;
    for (const auto& [connection, end_ns] : latest_[sent.number]) {
      met_ns = connection != sent.connection ? std::max(met_ns, end_ns) : met_ns;
    }
    return met_ns > 0 ? met_ns : last_ns_;
  }

 private:
  std::vector<const Exchange*> received_;
  std::size_t next_ = 0;
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> latest_;  // by number, connection
  std::int64_t last_ns_ = 0;
};

const Exchange* first_sent_in(const std::vector<Exchange>& exchanges, const Span& step) {
  auto exchange = std::ranges::lower_bound(exchanges, step.start_ns, {}, &Exchange::own_ready_ns);
  for (; exchange != exchanges.end() && exchange->own_ready_ns < step.end_ns; ++exchange) {
    if (exchange->kind == CollectiveKind::Send) {
      return &*exchange;
    }
  }
  return nullptr;
}

// Of each list, the connections of its messages: one for each neighbour.
std::vector<std::set<std::int64_t>> neighbours_of(const Exchanges& exchanges) {
  std::vector<std::set<std::int64_t>> neighbours(exchanges.size());
  for (std::size_t list = 0; list < exchanges.size(); ++list) {
    for (const Exchange& exchange : exchanges[list]) {
      if (is_message(exchange) && exchange.connection >= 0) {
        neighbours[list].insert(exchange.connection);
      }
    }
  }
  return neighbours;
}

// The lists that exchange messages with this one, also through others: the nearer ones first.
std::vector<std::size_t> pipeline_with(std::size_t first,
                                       const std::vector<std::set<std::int64_t>>& neighbours) {
  std::map<std::int64_t, std::vector<std::size_t>> at_connection;
  for (std::size_t list = 0; list < neighbours.size(); ++list) {
    for (const std::int64_t connection : neighbours[list]) {
      at_connection[connection].push_back(list);
    }
  }
  std::vector<std::size_t> stages{first};
  for (std::size_t place = 0; place < stages.size(); ++place) {
    for (const std::int64_t connection : neighbours[stages[place]]) {
      for (const std::size_t list : at_connection.at(connection)) {
        if (std::ranges::count(stages, list) == 0) {
          stages.push_back(list);
        }
      }
    }
  }
  return stages;
}

// A first stage that only sends begins a step when all messages of the last one have left.
std::optional<double> forward_compute_ns(const std::vector<Exchange>& exchanges,
                                         const Spans& steps) {
  std::vector<std::int64_t> ends;
  for (const Exchange& exchange : exchanges) {
    ends.push_back(exchange.end_ns);
  }
  std::ranges::sort(ends);
  std::vector<double> computes;
  for (const Span& step : steps) {
    const Exchange* first = first_sent_in(exchanges, step);
    const auto after =
        first == nullptr ? ends.begin() : std::ranges::upper_bound(ends, first->own_ready_ns);
    if (after != ends.begin()) {
      computes.push_back(static_cast<double>(first->own_ready_ns - *std::prev(after)));
    }
  }
  return math::median(computes);
}

// How long a stage computed before it sent the first message of each step.
std::vector<double> first_computes_ns(const std::vector<Exchange>& exchanges, const Spans& steps) {
  std::map<const Exchange*, double> computes;
  for (const StageCompute& compute : computes_of(exchanges)) {
    computes[compute.sent] = compute.ns;
  }
  std::vector<double> firsts;
  for (const Span& step : steps) {
    const auto first = computes.find(first_sent_in(exchanges, step));
    if (first != computes.end()) {
      firsts.push_back(first->second);
    }
  }
  return firsts;
}

// How long a stage computes for one micro-batch, forward and backward: seen undisturbed where the
// last stage turns round, and where the first one ends a step and begins the next. Either may be
// late, or have more to do there; hardly both.
std::optional<double> compute_of_batch_ns(const Exchanges& exchanges, const PipelineEnds& ends,
                                          const Spans& steps) {
  const auto turns =
      math::quantile(first_computes_ns(exchanges[ends.last], steps), kUndisturbedQuantile);
  if (!turns) {
    return forward_compute_ns(exchanges[ends.first], steps);
  }
  const auto begins =
      math::quantile(first_computes_ns(exchanges[ends.first], steps), kUndisturbedQuantile);
  return std::min(*turns, begins.value_or(*turns));
}

struct Messages {
  double count = 0;
  double usual_bytes = 0;
};

// Several whose headers were not seen are one row: the bytes show how many.
Messages sent_in(const std::vector<Exchange>& exchanges, const Spans& steps) {
  std::vector<double> sizes;
  for (const Exchange* sent : of_kind(exchanges, CollectiveKind::Send)) {
    if (covers(steps, sent->own_ready_ns)) {
      sizes.push_back(sent->bytes);
    }
  }
  const double largest = sizes.empty() ? 0 : std::ranges::max(sizes);
  std::erase_if(sizes, [&](double size) { return size < kMaxLeftoverMessage * largest; });
  const double usual = math::quantile(sizes, 0.1).value_or(0);
  return {usual > 0 ? std::reduce(sizes.begin(), sizes.end()) / usual : 0, usual};
}

// What each list sends first in each step.
class FirstMessages {
 public:
  FirstMessages(const Exchanges& exchanges, const Spans& steps) {
    for (const auto& of_rank : exchanges) {
      std::vector<const Exchange*>& firsts = of_list_.emplace_back();
      for (const Span& step : steps) {
        firsts.push_back(first_sent_in(of_rank, step));
      }
    }
  }

  // Which of these lists sends first in most of the steps.
  std::optional<std::size_t> beginner_of(const std::set<std::size_t>& lists) const {
    std::map<std::size_t, std::size_t> begun;
    for (std::size_t step = 0; !of_list_.empty() && step < of_list_.front().size(); ++step) {
      if (const auto first = first_in(step, lists)) {
        ++begun[*first];
      }
    }
    const auto most =
        std::ranges::max_element(begun, {}, &std::pair<const std::size_t, std::size_t>::second);
    return most == begun.end() ? std::nullopt : std::optional(most->first);
  }

 private:
  std::optional<std::size_t> first_in(std::size_t step, const std::set<std::size_t>& lists) const {
    std::optional<std::size_t> first;
    for (const std::size_t list : lists) {
      const Exchange* const sent = of_list_[list][step];
      if (sent != nullptr &&
          (!first || sent->own_ready_ns < of_list_[*first][step]->own_ready_ns)) {
        first = list;
      }
    }
    return first;
  }

  std::vector<std::vector<const Exchange*>> of_list_;  // by step
};

}  // namespace

std::vector<PipelineEnds> pipelines_in(const Exchanges& exchanges, const Spans& steps) {
  const FirstMessages messages(exchanges, steps);
  const auto neighbours = neighbours_of(exchanges);
  std::set<std::size_t> left;
  for (std::size_t list = 0; list < exchanges.size(); ++list) {
    left.insert(list);
  }
  std::vector<PipelineEnds> pipelines;
  while (const auto first = messages.beginner_of(left)) {
    PipelineEnds ends{.first = *first, .stages = pipeline_with(*first, neighbours)};
    bool has_last = false;
    for (const std::size_t list : ends.stages) {
      left.erase(list);
      if (list != ends.first && neighbours[list].size() == 1) {
        ends.last = list;
        has_last = true;
      }
    }
    if (has_last) {
      pipelines.push_back(std::move(ends));
    }
  }
  return pipelines;
}

std::vector<StageCompute> computes_of(const std::vector<Exchange>& exchanges) {
  Needs needs(exchanges);
  std::vector<StageCompute> computes;
  std::int64_t before_ns = 0;
  for (const Exchange* sent : of_kind(exchanges, CollectiveKind::Send)) {
    const std::int64_t met_ns = needs.met_ns(*sent);
    const std::int64_t since_ns = std::max(before_ns, met_ns);
    if (since_ns > 0) {
      computes.push_back(
          {sent, static_cast<double>(sent->own_ready_ns - since_ns), met_ns > before_ns});
    }
    before_ns = sent->own_ready_ns;
  }
  return computes;
}

std::optional<PipelineView> pipeline_of(const Exchanges& exchanges, const Spans& steps) {
  const std::vector<PipelineEnds> pipelines = pipelines_in(exchanges, steps);
  if (pipelines.empty()) {
    return std::nullopt;
  }
  const PipelineEnds& ends = pipelines.front();
  const std::optional<double> batch_compute_ns = compute_of_batch_ns(exchanges, ends, steps);
  if (!batch_compute_ns) {
    return std::nullopt;
  }
  const Messages sent = sent_in(exchanges[ends.first], steps);
  return PipelineView{
      .stages = static_cast<double>(ends.stages.size()),
      .batches = sent.count / static_cast<double>(steps.size()),
      .batch_compute_ns = *batch_compute_ns,
      .message_bytes = sent.usual_bytes,
      .is_forward_only = of_kind(exchanges[ends.last], CollectiveKind::Send).empty()};
}

std::optional<double> ideal_step_ns(const Exchanges& exchanges, const Spans& steps) {
  const std::optional<PipelineView> pipeline = pipeline_of(exchanges, steps);
  return pipeline ? std::optional(pipeline->ideal_step_ns()) : std::nullopt;
}

}  // namespace chokepoint::analysis
