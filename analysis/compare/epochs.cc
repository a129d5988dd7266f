#include "analysis/compare/epochs.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace chokepoint::analysis {
namespace {

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

std::int64_t rank_of(const record::Event& mark) {
  const auto detail = nlohmann::json::parse(mark.detail, nullptr, false);
  const auto rank = detail.is_object() ? detail.find("rank") : detail.end();
  return detail.is_object() && rank != detail.end() && rank->is_number_integer()
             ? rank->get<std::int64_t>()
             : -1;
}

// Several ranks may mark the same epochs: those of the first that did.
std::vector<std::int64_t> marked_at(const NodeData& node) {
  std::vector<std::int64_t> times;
  std::optional<std::int64_t> first_rank;
  for (const record::Event& event : node.events) {
    if (event.kind == "mark" && event.subject == "epoch") {
      const std::int64_t rank = rank_of(event);
      first_rank = first_rank.value_or(rank);
      if (rank == *first_rank) {
        times.push_back(event.t_ns);
      }
    }
  }
  std::ranges::sort(times);
  return times;
}

// The last epoch's end is the last step's, of the same node's clock.
std::optional<std::int64_t> last_step_ns(const NodeData& node) {
  std::optional<std::int64_t> last;
  for (const record::Step& step : node.steps) {
    last = std::max(last.value_or(step.end_ns), step.end_ns);
  }
  return last;
}

std::optional<Told> by_marks(const RunData& run) {
  for (const NodeData& node : run.nodes) {
    const std::vector<std::int64_t> times = marked_at(node);
    if (times.size() < 2) {
      continue;
    }
    const std::optional<std::int64_t> end_ns =
        times.size() > 2 ? std::optional(times[2]) : last_step_ns(node);
    if (end_ns && *end_ns > times[1]) {
      return Told{seconds(*end_ns - times[1]), "marks of epochs on " + node.name};
    }
  }
  return std::nullopt;
}

// Where an epoch begins among the rows: at the first, and wherever the number falls.
std::vector<std::size_t> beginnings_of(const StepRows& rows) {
  std::vector<std::size_t> starts{0};
  for (std::size_t at = 1; at < rows.rows.size(); ++at) {
    if (rows.rows[at]->number < rows.rows[at - 1]->number) {
      starts.push_back(at);
    }
  }
  return starts;
}

}  // namespace

std::optional<Told> second_epoch_s(const RunData& run, const StepRows* rows) {
  if (std::optional<Told> marked = by_marks(run)) {
    return marked;
  }
  if (rows == nullptr || rows->rows.empty()) {
    return std::nullopt;
  }
  const std::vector<std::size_t> starts = beginnings_of(*rows);
  if (starts.size() < 2) {
    return std::nullopt;
  }
  const std::size_t after = starts.size() > 2 ? starts[2] : rows->rows.size();
  const std::int64_t start_ns = rows->rows[starts[1]]->start_ns;
  return Told{seconds(rows->rows[after - 1]->end_ns - start_ns),
              "steps on " + rows->node + ", whose numbers begin again"};
}

}  // namespace chokepoint::analysis
