#include "analysis/load/sample_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "analysis/load/connections.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

// Finds moments in the large tables of one record. Borrows the Reader.
class TablePlaces {
 public:
  static Result<TablePlaces> open(record::Reader& reader);

  // Rows of a table that end before a moment; 0 if it cannot be read.
  std::int64_t rows_before(std::size_t table, std::int64_t t_ns);
  // Of packets and sockets: their detail is what shows a step's phases.
  std::optional<std::int64_t> detail_from();

 private:
  std::vector<record::TimeSearch> searches_;
};

constexpr std::size_t kPackets = 0;
constexpr std::size_t kSockets = 1;

Result<TablePlaces> TablePlaces::open(record::Reader& reader) {
  TablePlaces places;
  std::optional<Error> failure;
  const auto open_one = [&]<class Row>() {
    Result<record::TimeSearch> search = reader.search<Row>();
    if (search) {
      places.searches_.push_back(std::move(*search));
    } else {
      failure = search.error();
    }
  };
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (open_one.template operator()<std::tuple_element_t<Index, LargeTables>>(), ...);
  }(std::make_index_sequence<kLargeTables>());
  return failure ? fail(*failure) : Result<TablePlaces>(std::move(places));
}

std::int64_t TablePlaces::rows_before(std::size_t table, std::int64_t t_ns) {
  return searches_.at(table).rows_before(t_ns).value_or(0);
}

std::optional<std::int64_t> TablePlaces::detail_from() {
  const auto from = [this](std::size_t table) {
    return searches_.at(table).detail_from().value_or(std::nullopt);
  };
  return std::max(from(kPackets), from(kSockets));
}

// One of equally long pieces of a span; a part of each is read.
struct Slot {
  Span span = {};
  double rows = 0;
  double part = 0;
};

std::vector<Slot> slots_of(Span span, std::size_t count,
                           const std::function<double(std::int64_t)>& rows_until) {
  std::vector<Slot> slots(count);
  double before = rows_until(span.start_ns);
  for (std::size_t index = 0; index < count; ++index) {
    const auto border = [&](std::size_t number) {
      return span.start_ns +
             static_cast<std::int64_t>(static_cast<double>(span.length_ns()) *
                                       static_cast<double>(number) / static_cast<double>(count));
    };
    slots[index].span = {border(index), border(index + 1)};
    const double until = rows_until(slots[index].span.end_ns);
    slots[index].rows = std::max(until - before, 0.0);
    before = until;
  }
  return slots;
}

// The same number of rows to each; what a slot does not have goes to the others.
void share_out(std::vector<Slot>& slots, double rows) {
  std::vector<Slot*> order;
  for (Slot& slot : slots) {
    order.push_back(&slot);
  }
  std::ranges::sort(order, {}, &Slot::rows);
  for (std::size_t index = 0; index < order.size(); ++index) {
    Slot& slot = *order[index];
    const double share = rows / static_cast<double>(order.size() - index);
    slot.part = slot.rows <= share ? 1 : share / slot.rows;
    rows -= slot.part * slot.rows;
  }
}

Span window_in(const Slot& slot, bool at_start, bool at_end) {
  const auto length =
      static_cast<std::int64_t>(slot.part * static_cast<double>(slot.span.length_ns()));
  const std::int64_t rest = slot.span.length_ns() - length;
  const std::int64_t before = at_start ? 0 : at_end ? rest : rest / 2;
  return {slot.span.start_ns + before, slot.span.start_ns + before + length};
}

using Starts = std::map<FlowKey, std::int64_t>;

Starts starts_of(const NodeData& node) {
  Starts starts;
  for (const FlowData& flow : node.flows) {
    if (flow.row.start_ns.known()) {
      starts.emplace(key_of(flow.row), flow.row.start_ns.value());
    }
  }
  return starts;
}

// A connection begins at the same time for both its ends.
std::optional<std::int64_t> by_connections(const Starts& node, const Starts& base) {
  std::vector<std::int64_t> differences;
  for (const auto& [key, start] : node) {
    if (const auto same = base.find(key); same != base.end()) {
      differences.push_back(start - same->second);
    }
  }
  if (differences.empty()) {
    return std::nullopt;
  }
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::ranges::nth_element(differences, middle);
  return *middle;
}

std::int64_t by_wall_clocks(const NodeData& node, const NodeData& base) {
  return (node.span.start_ns - node.wall_start_ns) - (base.span.start_ns - base.wall_start_ns);
}

// Of each node, its clock less the first node's, well enough to read the same moments of their
// records: to about 0.1 s, which it may take until a connection is noticed. timeline/clocks.h fits
// them exactly later.
std::vector<std::int64_t> rough_offsets(const std::vector<NodeData>& nodes) {
  std::vector<Starts> starts;
  std::ranges::transform(nodes, std::back_inserter(starts), starts_of);
  std::vector<std::optional<std::int64_t>> known(nodes.size());
  const auto between = [&](std::size_t node, std::size_t base) {
    const bool is_one_clock =
        !nodes[node].boot_id.empty() && nodes[node].boot_id == nodes[base].boot_id;
    return is_one_clock ? std::optional<std::int64_t>(0)
                        : by_connections(starts[node], starts[base]);
  };
  // From the nodes that are known to those that have exchanged data with them; false where there is
  // none.
  const auto spread = [&] {
    bool is_more = false;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      for (std::size_t base = 0; !known[node] && base < nodes.size(); ++base) {
        if (const auto apart = known[base] ? between(node, base) : std::nullopt) {
          known[node] = *known[base] + *apart;
          is_more = true;
        }
      }
    }
    return is_more;
  };
  std::vector<std::int64_t> offsets;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (!known[node]) {
      known[node] = by_wall_clocks(nodes[node], nodes[0]);
      while (spread()) {
      }
    }
  }
  for (const auto& offset : known) {
    offsets.push_back(*offset);
  }
  return offsets;
}

constexpr std::int64_t kWindowSlackNs = 1'000'000'000;
constexpr std::size_t kMaxWindows = 40;
constexpr std::int64_t kStepsInWindow = 4;
constexpr std::int64_t kMinWindowNs = 1'000'000'000;

// From the first step to the last; all of the span where there are none.
Span span_of_steps(const NodeData& node) {
  Span span{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (const record::Step& step : node.steps) {
    span.start_ns = std::min(span.start_ns, step.start_ns);
    span.end_ns = std::max(span.end_ns, step.end_ns);
  }
  return node.steps.empty() || span.length_ns() <= 0 ? node.span : span;
}

std::int64_t median_step_ns(const NodeData& node) {
  std::vector<std::int64_t> lengths;
  for (const record::Step& step : node.steps) {
    lengths.push_back((step.end_ns - step.start_ns) / std::max<std::int64_t>(step.merged, 1));
  }
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::ranges::nth_element(lengths, middle);
  return lengths.empty() ? 0 : *middle;
}

// A node of which not all is read.
struct LargeNode {
  std::size_t index = 0;
  TablePlaces places;
  std::int64_t offset_ns = 0;  // its clock less the first node's
  double left = 0;             // rows that may still be read
};

class Planner {
 public:
  Planner(record::Run& run, const LoadLimits& limits, const std::vector<NodeData>& nodes)
      : nodes_(nodes), plans_(nodes.size()) {
    const auto most = static_cast<double>(limits.of_each(nodes.size()));
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      plans_[index].whole = with_slack(nodes[index].span);
      // Behind a cut no moment can be searched.
      if (!run.nodes[index].damage()) {
        measure(run.nodes[index], index, most);
      }
    }
  }

  std::vector<SamplePlan> plan() {
    if (!large_.empty()) {
      const std::vector<std::int64_t> offsets = rough_offsets(nodes_);
      for (LargeNode& node : large_) {
        node.offset_ns = offsets[node.index];
        left_ += node.left;
      }
      place_windows();
    }
    return std::move(plans_);
  }

 private:
  using Rows = std::array<std::int64_t, kLargeTables>;

  void measure(record::Reader& reader, std::size_t index, double most) {
    Result<TablePlaces> places = TablePlaces::open(reader);
    if (!places) {
      return;
    }
    Rows rows{};
    for (std::size_t table = 0; table < kLargeTables; ++table) {
      rows.at(table) = places->rows_before(table, plans_[index].whole.end_ns) -
                       places->rows_before(table, plans_[index].whole.start_ns);
    }
    if (static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0})) > most) {
      const double left = read_small_tables(rows, most, plans_[index]);
      large_.push_back({.index = index, .places = std::move(*places), .left = left});
    }
  }

  // A table that needs less than its share of what may be read leaves the rest to the others. Gives
  // what is left for those that are not read whole.
  static double read_small_tables(const Rows& rows, double left, SamplePlan& plan) {
    std::array<std::size_t, kLargeTables> order{};
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::size_t table) { return rows.at(table); });
    for (std::size_t index = 0; index < order.size(); ++index) {
      const auto needed = static_cast<double>(rows.at(order.at(index)));
      const bool fits = needed <= left / static_cast<double>(order.size() - index);
      plan.is_whole.at(order.at(index)) = fits;
      left -= fits ? needed : 0;
    }
    return left;
  }

  // Moments below are the first node's.
  double rows_until(std::int64_t t_ns) {
    std::int64_t rows = 0;
    for (LargeNode& node : large_) {
      for (std::size_t table = 0; table < kLargeTables; ++table) {
        rows += plans_[node.index].is_whole.at(table)
                    ? 0
                    : node.places.rows_before(table, t_ns + node.offset_ns);
      }
    }
    return static_cast<double>(rows);
  }

  void place_windows() {
    Span steps{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    std::int64_t detail = std::numeric_limits<std::int64_t>::min();
    for (LargeNode& node : large_) {
      const Span own = span_of_steps(nodes_[node.index]);
      steps = {std::min(steps.start_ns, own.start_ns - node.offset_ns),
               std::max(steps.end_ns, own.end_ns - node.offset_ns)};
      const std::optional<std::int64_t> own_detail = node.places.detail_from();
      detail = own_detail ? std::max(detail, *own_detail - node.offset_ns) : detail;
    }
    if (detail > steps.start_ns && detail < steps.end_ns) {
      place({.span = {steps.start_ns, detail},
             .rows = left_ / 2,
             .most = kMaxWindows / 2,
             .to_end = false});
      place({.span = {detail, steps.end_ns},
             .rows = left_,
             .most = kMaxWindows / 2,
             .from_start = false});
    } else {
      place({.span = steps, .rows = left_, .most = kMaxWindows});
    }
  }

  void place(WindowsWanted wanted) {
    wanted.least_ns =
        std::max(kMinWindowNs, kStepsInWindow * median_step_ns(nodes_[large_.front().index]));
    const auto rows = [this](std::int64_t t_ns) { return rows_until(t_ns); };
    for (const Span window : spread_windows(wanted, rows)) {
      left_ -= rows(window.end_ns) - rows(window.start_ns);
      for (const LargeNode& node : large_) {
        plans_[node.index].windows.push_back(
            {window.start_ns + node.offset_ns, window.end_ns + node.offset_ns});
      }
    }
    left_ = std::max(left_, 0.0);
  }

  const std::vector<NodeData>& nodes_;
  std::vector<SamplePlan> plans_;
  std::vector<LargeNode> large_;
  double left_ = 0;  // of all of these
};

}  // namespace

std::vector<Span> spread_windows(const WindowsWanted& wanted,
                                 const std::function<double(std::int64_t)>& rows_until) {
  std::vector<Slot> slots = slots_of(wanted.span, wanted.most, rows_until);
  share_out(slots, wanted.rows);
  const auto read_ns = [](const Slot& slot) {
    return slot.part * static_cast<double>(slot.span.length_ns());
  };
  const double mean_ns = math::sum_by(slots, read_ns) / static_cast<double>(slots.size());
  if (mean_ns < static_cast<double>(wanted.least_ns)) {
    const double useful =
        static_cast<double>(wanted.most) * mean_ns / static_cast<double>(wanted.least_ns);
    slots = slots_of(wanted.span, static_cast<std::size_t>(std::max(std::floor(useful), 2.0)),
                     rows_until);
    share_out(slots, wanted.rows);
  }
  std::vector<Span> windows;
  for (std::size_t index = 0; index < slots.size(); ++index) {
    const Span window = window_in(slots[index], wanted.from_start && index == 0,
                                  wanted.to_end && index + 1 == slots.size());
    if (!windows.empty() && windows.back().end_ns >= window.start_ns) {
      windows.back().end_ns = window.end_ns;
    } else if (window.length_ns() > 0) {
      windows.push_back(window);
    }
  }
  return windows;
}

Span with_slack(Span session) {
  // A session whose end is unknown has the largest number for it, and more is added to it.
  constexpr std::int64_t kMaxEndNs = std::numeric_limits<std::int64_t>::max() / 2;
  return {session.start_ns - kWindowSlackNs, std::min(session.end_ns, kMaxEndNs) + kWindowSlackNs};
}

std::vector<SamplePlan> plan_samples(record::Run& run, const LoadLimits& limits,
                                     const std::vector<NodeData>& nodes) {
  return Planner(run, limits, nodes).plan();
}

}  // namespace chokepoint::analysis
