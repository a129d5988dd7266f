#include "analysis/phases/steps.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/phases/step_bytes.h"
#include "base/math/saturating.h"

namespace chokepoint::analysis {
namespace {

// Steps left out at the beginning, in which connections are made: a judgement.
constexpr std::size_t kWarmUpSteps = 2;
constexpr std::size_t kMinSteps = 5;  // with fewer none is left out
// A collective is written when nothing of it came for a second, and its parts half a second later.
constexpr std::int64_t kCollectivesLagNs = 2'500'000'000;

std::optional<std::int64_t> last_sample_ns(const NodeData& node) {
  std::optional<std::int64_t> last_ns;
  for (const FlowData& flow : node.flows) {
    for (const std::size_t side : {0U, 1U}) {
      if (!flow.sockets.at(side).empty()) {
        last_ns = std::max(last_ns.value_or(0), flow.sockets.at(side).back().t_ns);
      }
      if (!flow.packets.at(side).empty()) {
        last_ns = std::max(last_ns.value_or(0), flow.packets.at(side).back().t_ns);
      }
    }
  }
  return last_ns;
}

// While there is traffic, collectives may still be written, but none that was over long before.
// Without any traffic, as of a job whose data go by RDMA, there is nothing to wait for.
std::optional<std::int64_t> known_until_ns(const NodeData& node) {
  std::optional<std::int64_t> known_ns;
  if (const auto last_ns = last_sample_ns(node)) {
    known_ns = *last_ns - kCollectivesLagNs;
  }
  for (const record::Collective& collective : node.collectives) {
    known_ns = std::max(known_ns.value_or(collective.end_ns), collective.end_ns);
  }
  return known_ns;
}

using record::StepSource;

struct Choice {
  const NodeData* node = nullptr;
  std::size_t place = 0;
  StepSource source = StepSource::Traffic;
  std::int64_t rank = -1;
  std::int64_t count = 0;
};

std::int64_t times(const record::Step& step) { return std::max<std::int64_t>(step.merged, 1); }

// A better source goes before more steps.
bool is_better(const Choice& one, const Choice& other) {
  return one.source != other.source ? one.source < other.source : one.count > other.count;
}

Choice best_of(const RunData& run) {
  Choice best;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    std::map<std::pair<StepSource, std::int64_t>, std::int64_t> counts;
    for (const record::Step& step : run.nodes[place].steps) {
      if (step.end_ns > step.start_ns) {
        std::int64_t& count = counts[{step.source, step.rank.value_or(-1)}];
        count = math::saturated_sum(count, times(step));
      }
    }
    for (const auto& [key, count] : counts) {
      const Choice choice{&run.nodes[place], place, key.first, key.second, count};
      best = best.node == nullptr || is_better(choice, best) ? choice : best;
    }
  }
  return best;
}

// Steps kept in memory, the newest: almost three hours of steps of 10 ms. The bound is needed since
// a row may claim to stand for any number, and each step has accounts of its own.
constexpr std::int64_t kMaxSteps = 1 << 20;

// One end of a connection in one direction, of one rank.
using MessageStream = std::tuple<std::int64_t, record::CollectiveKind, std::int64_t, std::int64_t>;

std::map<MessageStream, std::vector<const record::Collective*>> messages_of(const NodeData& node) {
  std::map<MessageStream, std::vector<const record::Collective*>> messages;
  for (const record::Collective& row : node.collectives) {
    if (row.source == record::CollectiveSource::Gloo && row.merged <= 1 &&
        (row.kind == record::CollectiveKind::Send || row.kind == record::CollectiveKind::Receive)) {
      messages[{row.flow.value_or(-1), row.kind, row.rank.value_or(-1),
                row.communicator.value_or(0)}]
          .push_back(&row);
    }
  }
  for (auto& [side, rows] : messages) {
    std::ranges::sort(rows, {}, &record::Collective::start_ns);
  }
  return messages;
}

// A pipeline numbers the micro-batches of each step anew. Empty where numbers do not show steps.
std::vector<Span> steps_of_messages(const RunData& run, const Clocks& clocks) {
  std::vector<Span> most;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    for (const auto& [side, rows] : messages_of(run.nodes[place])) {
      const std::int64_t first = std::ranges::min(rows, {}, &record::Collective::number)->number;
      std::vector<Span> steps;
      std::optional<std::int64_t> begin_ns;
      for (std::size_t row = 1; row < rows.size(); ++row) {
        if (rows[row]->number != first || rows[row - 1]->number == first) {
          continue;
        }
        const std::int64_t end_ns = clocks.common_ns(place, rows[row]->start_ns);
        if (begin_ns && end_ns > *begin_ns) {
          steps.push_back({*begin_ns, end_ns});
        }
        begin_ns = end_ns;
      }
      most = steps.size() > most.size() ? std::move(steps) : most;
    }
  }
  return most.size() >= kMinSteps ? most : std::vector<Span>();
}

// Cuts a step that stands for several; length times count may be beyond 64 bits.
void add_parts(Span step, std::int64_t count, std::vector<Span>& parts) {
  const std::int64_t whole_ns = step.length_ns() / count;
  const std::int64_t rest_ns = step.length_ns() % count;
  const auto border = [&](std::int64_t part) {
    return step.start_ns + whole_ns * part + rest_ns * part / count;
  };
  for (std::int64_t part = 0; part < count; ++part) {
    parts.push_back({border(part), border(part + 1)});
  }
}

StepLine line_of(const Choice& choice, const Clocks& clocks) {
  StepLine line;
  if (choice.node == nullptr) {
    return line;
  }
  line.source = choice.source;
  std::int64_t left = kMaxSteps;
  for (const record::Step& step : choice.node->steps | std::views::reverse) {
    if (step.source != choice.source || step.rank.value_or(-1) != choice.rank ||
        step.end_ns <= step.start_ns || times(step) > left) {
      continue;
    }
    left -= times(step);
    const std::int64_t start_ns = clocks.common_ns(choice.place, step.start_ns);
    const std::int64_t end_ns = clocks.common_ns(choice.place, step.end_ns);
    add_parts({start_ns, end_ns}, times(step), line.all);
  }
  return line;
}

// If samples were read of windows only, a step between these would look as if nothing went on.
std::vector<Span> only_read(std::vector<Span> steps, const RunData& run, const Clocks& clocks) {
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const Spans windows = read_windows(run, clocks, place);
    if (windows.empty()) {
      continue;
    }
    std::vector<Span> inside = steps;
    std::erase_if(inside,
                  [&](const Span& step) { return covered_ns(windows, step) < step.length_ns(); });
    if (!inside.empty()) {
      steps = std::move(inside);
    }
  }
  return steps;
}

// NCCL reports arrivals for a share of the time: the steps of that time stand for all.
std::vector<Span> only_reported(const std::vector<Span>& steps, const RunData& run,
                                const Clocks& clocks) {
  const Spans unreported = unreported_arrivals(run, clocks);
  std::vector<Span> reported = steps;
  std::erase_if(reported, [&](const Span& step) { return covered_ns(unreported, step) > 0; });
  return reported.size() >= kMinSteps ? reported : steps;
}

using RankIn = std::pair<std::int64_t, std::int64_t>;  // communicator, rank

RankIn rank_in(const record::Collective& row) {
  return {row.communicator.value_or(0), row.rank.value_or(-1)};
}

// The communicators, and ranks in them, for which any arrival is reported. Inside a host only
// kernel events report arrivals, and these are not requested of every version of NCCL (events.cc).
std::set<RankIn> reporting_ranks(const NodeData& node) {
  std::set<RankIn> reported;
  for (const record::Collective& row : node.collectives) {
    if (row.source == record::CollectiveSource::Nccl &&
        (row.own_ready_ns.known() || row.last_data_ns.known())) {
      reported.insert(rank_in(row));
    }
  }
  return reported;
}

std::vector<StepUnit> units_of(const Choice& choice, const Clocks& clocks) {
  std::vector<StepUnit> units;
  if (choice.node == nullptr || choice.count > kMaxSteps) {
    return units;
  }
  std::int64_t first = 0;
  for (const record::Step& step : choice.node->steps) {
    if (step.source == choice.source && step.rank.value_or(-1) == choice.rank &&
        step.end_ns > step.start_ns) {
      units.push_back({.first = first,
                       .steps = times(step),
                       .span = {clocks.common_ns(choice.place, step.start_ns),
                                clocks.common_ns(choice.place, step.end_ns)}});
      first += times(step);
    }
  }
  return units;
}

std::optional<SyncRounds> rounds_of(const RunData& run, const Clocks& clocks,
                                    const Choice& choice) {
  std::vector<StepUnit> units = units_of(choice, clocks);
  if (!std::ranges::is_sorted(units, {}, [](const StepUnit& unit) { return unit.span.start_ns; })) {
    return std::nullopt;
  }
  fill_in_bytes(run, clocks, units);
  return find_rounds(units);
}

// A part of a round would have too many steps without exchange, or too few. Unchanged where two
// exchanges or fewer would be left.
void keep_whole_rounds(const SyncRounds& rounds, std::vector<Span>& settled) {
  constexpr std::size_t kLeastWholeRounds = 3;
  std::vector<std::int64_t> ends;
  for (const SyncSteps& sync : rounds.syncs) {
    if (!settled.empty() && sync.span.end_ns >= settled.front().start_ns &&
        sync.span.end_ns <= settled.back().end_ns) {
      ends.push_back(sync.span.end_ns);
    }
  }
  if (ends.size() > kLeastWholeRounds) {
    std::erase_if(settled, [&](const Span& step) {
      return step.start_ns < ends.front() || step.end_ns > ends.back();
    });
  }
}

}  // namespace

std::int64_t known_until_ns(const RunData& run, const Clocks& clocks) {
  std::int64_t until_ns = INT64_MAX;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const NodeData& node = run.nodes[place];
    const auto known_ns = node.is_complete ? std::nullopt : known_until_ns(node);
    if (known_ns) {
      until_ns = std::min(until_ns, clocks.common_ns(place, *known_ns));
    }
  }
  return until_ns;
}

Spans unreported_arrivals(const RunData& run, const Clocks& clocks) {
  Spans unreported;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const std::set<RankIn> reported = reporting_ranks(run.nodes[place]);
    for (const record::Collective& row : run.nodes[place].collectives) {
      // A rank that arrived before its data is known not to have been late.
      if (row.source == record::CollectiveSource::Nccl && !row.own_ready_ns.known() &&
          !row.peer_ready_ns.known() && reported.contains(rank_in(row))) {
        const std::int64_t start_ns = clocks.common_ns(place, row.start_ns);
        const std::int64_t end_ns = clocks.common_ns(place, row.end_ns);
        unreported.push_back({start_ns, std::max(end_ns, start_ns + 1)});
      }
    }
  }
  return united(std::move(unreported));
}

double count_between(std::span<const Span> settled) {
  if (settled.empty()) {
    return 0;
  }
  const Span whole{settled.front().start_ns, settled.back().end_ns};
  return static_cast<double>(whole.length_ns()) * static_cast<double>(settled.size()) /
         static_cast<double>(length_ns(settled));
}

std::vector<bool> follows_settled(const StepLine& steps) {
  std::vector<bool> follows;
  std::size_t place = 0;  // in `all`, of which the settled ones are a part
  std::size_t before = steps.all.size();
  for (const Span& step : steps.settled) {
    while (place < steps.all.size() && steps.all[place].start_ns < step.start_ns) {
      ++place;
    }
    follows.push_back(place == before + 1);
    before = place;
  }
  return follows;
}

StepLine choose_steps(const RunData& run, const Clocks& clocks) {
  const Choice choice = best_of(run);
  StepLine line = line_of(choice, clocks);
  if (line.source.value_or(StepSource::Traffic) == StepSource::Traffic) {
    if (std::vector<Span> steps = steps_of_messages(run, clocks); !steps.empty()) {
      line = {.source = StepSource::Collectives, .all = std::move(steps)};
    }
  } else {
    line.rounds = rounds_of(run, clocks, choice);
  }
  if (line.all.empty()) {
    return {};
  }
  std::ranges::sort(line.all, {}, &Span::start_ns);
  const std::size_t skipped = line.all.size() > kWarmUpSteps + kMinSteps ? kWarmUpSteps : 0;
  line.settled.assign(line.all.begin() + static_cast<std::ptrdiff_t>(skipped), line.all.end());
  const std::int64_t until_ns = known_until_ns(run, clocks);
  std::erase_if(line.settled, [&](const Span& step) { return step.end_ns > until_ns; });
  line.settled = only_read(std::move(line.settled), run, clocks);
  line.settled = only_reported(line.settled, run, clocks);
  if (line.rounds) {
    keep_whole_rounds(*line.rounds, line.settled);
  }
  return line;
}

}  // namespace chokepoint::analysis
