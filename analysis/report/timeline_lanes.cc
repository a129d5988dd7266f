#include "analysis/report/timeline_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "analysis/load/code_words.h"
#include "analysis/load/run_summary.h"
#include "analysis/report/known_span.h"

namespace chokepoint::analysis {
namespace {

Span on_common_clock(const Clocks& clocks, std::size_t node, std::int64_t start_ns,
                     std::int64_t end_ns) {
  return {clocks.common_ns(node, start_ns), clocks.common_ns(node, end_ns)};
}

// Of each stretch of time the same share, so that what is shown is whole stretches: those that
// begin in the first part of each of these pieces of the run.
class Thinned {
 public:
  Thinned(Span whole, std::size_t all, std::size_t most)
      : start_ns_(whole.start_ns),
        piece_ns_(std::max<std::int64_t>(1, whole.length_ns() / kPieces)),
        share_(all <= most ? 1 : static_cast<double>(most) / static_cast<double>(all)) {}

  bool shows(std::int64_t t_ns) const {
    const auto within = static_cast<double>((t_ns - start_ns_) % piece_ns_);
    return share_ >= 1 || within < share_ * static_cast<double>(piece_ns_);
  }

 private:
  static constexpr std::int64_t kPieces = 40;
  std::int64_t start_ns_;
  std::int64_t piece_ns_;
  double share_;
};

Lane steps_lane(const RunData& run, const Inquiry& inquiry, std::size_t place, std::size_t most) {
  const NodeData& node = run.nodes[place];
  Lane lane{.node = node.name, .rank = node.rank(), .kind = "steps", .names = {"step"}};
  for (const record::Step& step : node.steps) {
    lane.all += step.source == inquiry.steps.source ? std::max<std::int64_t>(step.merged, 1) : 0;
  }
  const Thinned thinned(known_span(node), static_cast<std::size_t>(lane.all), most);
  for (const record::Step& step : node.steps) {
    if (step.source == inquiry.steps.source && thinned.shows(step.start_ns)) {
      lane.entries.push_back(
          {.span = on_common_clock(inquiry.clocks, place, step.start_ns, step.end_ns)});
    }
  }
  lane.source = fmt::format("steps of {}, by {}", node.name,
                            inquiry.steps.source ? name_of(*inquiry.steps.source) : "none");
  return lane;
}

Lane collectives_lane(const RunData& run, const Inquiry& inquiry, std::size_t place,
                      std::size_t most) {
  const NodeData& node = run.nodes[place];
  Lane lane{.node = node.name,
            .rank = node.rank(),
            .kind = "collectives",
            .all = static_cast<std::int64_t>(node.collectives.size()),
            .source = "collectives of " + node.name};
  const Thinned thinned(known_span(node), node.collectives.size(), most);
  std::map<record::CollectiveKind, std::size_t> names;
  for (const record::Collective& each : node.collectives) {
    if (!thinned.shows(each.start_ns)) {
      continue;
    }
    const auto [name, is_new] = names.emplace(each.kind, lane.names.size());
    if (is_new) {
      const std::string_view word = word_of(each.kind);
      lane.names.emplace_back(word.empty() ? "unknown" : word);
    }
    LaneEntry entry{.span = on_common_clock(inquiry.clocks, place, each.start_ns, each.end_ns),
                    .name = name->second};
    if (each.bytes.known()) {
      entry.bytes = static_cast<double>(each.bytes.value());
    }
    lane.entries.push_back(entry);
  }
  return lane;
}

Lane waiting_lane(const RunData& run, const Inquiry& inquiry, std::size_t place, std::size_t most) {
  const NodeData& node = run.nodes[place];
  Lane lane{.node = node.name,
            .rank = node.rank(),
            .kind = "waiting",
            .names = {"the others wait for " + node.name},
            .source = "who came when to the collectives of all nodes"};
  lane.all = std::ranges::count(inquiry.phases.late, place, &Late::node);
  const Span own = known_span(node);
  const Thinned thinned(on_common_clock(inquiry.clocks, place, own.start_ns, own.end_ns),
                        static_cast<std::size_t>(lane.all), most);
  for (const Late& late : inquiry.phases.late) {
    if (late.node == place && thinned.shows(late.waited.start_ns)) {
      lane.entries.push_back({.span = late.waited});
    }
  }
  return lane;
}

}  // namespace

ShownSteps shown_steps(const StepLine& steps, std::size_t most) {
  ShownSteps shown{.source = steps.source, .all = static_cast<std::int64_t>(steps.all.size())};
  const std::size_t together = most == 0 ? 1 : (steps.all.size() + most - 1) / most;
  for (std::size_t first = 0; first < steps.all.size();
       first += std::max<std::size_t>(together, 1)) {
    const std::size_t last =
        std::min(first + std::max<std::size_t>(together, 1), steps.all.size()) - 1;
    const Span span{steps.all[first].start_ns, steps.all[last].end_ns};
    const auto settled =
        std::ranges::lower_bound(steps.settled, span.start_ns, {}, &Span::start_ns);
    shown.steps.push_back(
        {.span = span,
         .count = static_cast<std::int64_t>(last - first + 1),
         .is_settled = settled != steps.settled.end() && settled->start_ns < span.end_ns});
  }
  return shown;
}

std::vector<Lane> lanes_of(const RunData& run, const Inquiry& inquiry,
                           const TimelineLimits& limits) {
  const std::size_t nodes = std::max<std::size_t>(1, run.nodes.size());
  std::vector<Lane> lanes;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    for (Lane lane : {steps_lane(run, inquiry, place, limits.steps / nodes),
                      collectives_lane(run, inquiry, place, limits.collectives / nodes),
                      waiting_lane(run, inquiry, place, limits.collectives / nodes)}) {
      if (!lane.entries.empty()) {
        lanes.push_back(std::move(lane));
      }
    }
  }
  return lanes;
}

std::vector<Span> joined(std::vector<Span> spans, std::size_t most) {
  if (spans.size() <= most || most == 0) {
    return spans;
  }
  std::vector<std::int64_t> pauses;
  for (std::size_t next = 1; next < spans.size(); ++next) {
    pauses.push_back(spans[next].start_ns - spans[next - 1].end_ns);
  }
  const auto kept = pauses.begin() + static_cast<std::ptrdiff_t>(most - 1);
  std::ranges::nth_element(pauses, kept, std::greater<>());
  const std::int64_t longest_hidden = *kept;
  std::vector<Span> fewer = {spans.front()};
  for (const Span& span : spans | std::views::drop(1)) {
    if (span.start_ns - fewer.back().end_ns <= longest_hidden) {
      fewer.back().end_ns = span.end_ns;
    } else {
      fewer.push_back(span);
    }
  }
  return fewer;
}

}  // namespace chokepoint::analysis
