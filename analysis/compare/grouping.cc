#include "analysis/compare/grouping.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>

#include "analysis/compare/keys.h"
#include "analysis/predict/job_profile.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

using Value = std::optional<std::string>;
// By key and value, when the value first came.
using Places = std::map<std::pair<std::string, std::string>, std::size_t>;

// Values of these keys keep the order in which runs and documents were given: of trials' variants
// the first is the one that others are compared with.
Places places_as_given(const std::vector<ComparedRun>& runs) {
  Places places;
  for (const ComparedRun& run : runs) {
    for (const char* key : {"folder", "facts", "variant"}) {
      const Value value =
          run.is_probe || std::string_view(key) == "folder" ? value_of(run, key) : std::nullopt;
      if (value) {
        places.try_emplace({key, *value}, places.size());
      }
    }
  }
  return places;
}

std::strong_ordering order_of(const std::string& key, const Value& one, const Value& other,
                              const Places& places) {
  if (!one || !other) {
    return one.has_value() <=> other.has_value();
  }
  const auto first = places.find({key, *one});
  const auto second = places.find({key, *other});
  if (first != places.end() && second != places.end()) {
    return first->second <=> second->second;
  }
  if (key == "parallelism") {
    const auto kinds = parallelism_named(*one) <=> parallelism_named(*other);
    return kinds != 0 ? kinds : natural_order(*one, *other);
  }
  return natural_order(*one, *other);
}

// Numbers that stand for rows or runs are changed with them.
void put_in_order(Comparison& comparison, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> place_of_old(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    place_of_old[order[place]] = place;
  }
  std::vector<Group> groups;
  std::vector<ComparedRun> runs;
  for (const std::size_t place : order) {
    Group& group = groups.emplace_back(std::move(comparison.groups[place]));
    if (group.difference) {
      group.difference->baseline = place_of_old[group.difference->baseline];
    }
    if (group.scaling_reference) {
      group.scaling_reference = place_of_old[*group.scaling_reference];
    }
    for (std::size_t& run : group.runs) {
      runs.push_back(std::move(comparison.runs[run]));
      run = runs.size() - 1;
    }
  }
  comparison.groups = std::move(groups);
  comparison.runs = std::move(runs);
}

std::vector<std::size_t> counted(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

const Value& value_at(const Group& group, const Comparison& comparison, const std::string& key) {
  const auto place = std::ranges::find(comparison.keys, key) - comparison.keys.begin();
  return group.values[static_cast<std::size_t>(place)];
}

bool is_one_of(const std::vector<std::string>& keys, const std::string& key) {
  return std::ranges::find(keys, key) != keys.end();
}

// A condition may name a label that makes no rows; then all runs of the row have to have it.
bool fulfils(const Comparison& comparison, const Group& group, const Condition& condition) {
  return std::ranges::all_of(condition, [&](const auto& each) {
    return std::ranges::all_of(group.runs, [&](std::size_t run) {
      return value_of(comparison.runs[run], each.first) == each.second;
    });
  });
}

std::optional<std::int64_t> gpus_of(const ComparedRuns& runs) {
  const std::optional<std::int64_t> first = runs.front()->gpus;
  const bool agree = std::ranges::all_of(runs, [&](const auto* run) { return run->gpus == first; });
  return agree ? first : std::nullopt;
}

std::optional<Accounting> mean_accounting(const ComparedRuns& runs) {
  Accounting sum;
  std::size_t count = 0;
  for (const ComparedRun* run : runs) {
    if (run->accounting) {
      ++count;
      for (std::size_t at = 0; at < kAccounts; ++at) {
        sum.ms[at] += run->accounting->ms[at];
      }
    }
  }
  for (double& ms : sum.ms) {
    ms /= static_cast<double>(std::max<std::size_t>(count, 1));
  }
  return count > 0 ? std::optional(sum) : std::nullopt;
}

void take_verdicts(const ComparedRuns& runs, Group& group) {
  std::map<VerdictClass, std::size_t> counts;
  for (const ComparedRun* run : runs) {
    ++counts[run->verdict.verdict];
    ++group.verdicts[name_of(run->verdict.verdict)];
  }
  group.verdict =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
}

bool is_of_folders(const std::string& key) { return key == "folder" || key == "path"; }

// Up to the last slash in what both begin with.
std::size_t common_start(std::string_view one, std::string_view other) {
  const auto apart = std::ranges::mismatch(one, other).in1;
  const auto same = static_cast<std::size_t>(apart - one.begin());
  const std::size_t slash = one.substr(0, same).rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

std::size_t common_start(const Comparison& comparison, std::size_t key) {
  const auto& first = comparison.groups.front().values[key];
  std::size_t start = first ? first->size() : 0;
  for (const Group& group : comparison.groups) {
    if (first && group.values[key]) {
      start = std::min(start, common_start(*first, *group.values[key]));
    }
  }
  return start;
}

}  // namespace

void group_runs(Comparison& comparison) {
  std::map<std::vector<Value>, std::size_t> known;
  for (std::size_t run = 0; run < comparison.runs.size(); ++run) {
    std::vector<Value> values;
    for (const std::string& key : comparison.keys) {
      values.push_back(value_of(comparison.runs[run], key));
    }
    const auto [place, is_new] = known.try_emplace(values, comparison.groups.size());
    if (is_new) {
      comparison.groups.push_back({.values = values});
    }
    comparison.groups[place->second].runs.push_back(run);
  }
  const Places places = places_as_given(comparison.runs);
  std::vector<std::size_t> order = counted(comparison.groups.size());
  std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
    for (std::size_t key = 0; key < comparison.keys.size(); ++key) {
      const auto by_key = order_of(comparison.keys[key], comparison.groups[one].values[key],
                                   comparison.groups[other].values[key], places);
      if (by_key != 0) {
        return by_key < 0;
      }
    }
    return false;
  });
  put_in_order(comparison, order);
}

Result<> sort_groups(Comparison& comparison, const std::string& by, bool is_reversed) {
  const std::optional<Figure> figure = figure_of(by);
  const bool is_key = is_one_of(comparison.keys, by);
  if (!by.empty() && !figure && !is_key) {
    return fail(ErrorKind::Usage, "", "--sort " + by, "is no key and no figure of these rows",
                fmt::format("the keys are {}", fmt::join(comparison.keys, ", ")));
  }
  const Places places = places_as_given(comparison.runs);
  std::vector<std::size_t> order = counted(comparison.groups.size());
  // Rows without the figure come last.
  const auto without_figure = std::ranges::stable_partition(order, [&](std::size_t place) {
    return !figure || comparison.groups[place][*figure].has_value();
  });
  const std::span with_figure(order.begin(), without_figure.begin());
  std::ranges::stable_sort(with_figure, [&](std::size_t first, std::size_t second) {
    const Group& one = comparison.groups[first];
    const Group& other = comparison.groups[second];
    return is_key ? order_of(by, value_at(one, comparison, by), value_at(other, comparison, by),
                             places) < 0
                  : figure && one[*figure]->mean < other[*figure]->mean;
  });
  if (is_reversed) {
    std::ranges::reverse(with_figure);
  }
  put_in_order(comparison, order);
  return {};
}

std::optional<std::size_t> baseline_of(const Comparison& comparison, std::size_t group,
                                       const Condition& condition) {
  const std::vector<Group>& groups = comparison.groups;
  std::vector<std::size_t> fulfilling;
  for (std::size_t other = 0; other < groups.size(); ++other) {
    if (!fulfils(comparison, groups[other], condition)) {
      continue;
    }
    fulfilling.push_back(other);
    bool is_like = true;
    for (std::size_t key = 0; key < comparison.keys.size(); ++key) {
      is_like = is_like && (condition.contains(comparison.keys[key]) ||
                            groups[group].values[key] == groups[other].values[key]);
    }
    if (is_like) {
      return other;
    }
  }
  return fulfilling.size() == 1 ? std::optional(fulfilling.front()) : std::nullopt;
}

ComparedRuns runs_of(const Comparison& comparison, const Group& group) {
  ComparedRuns runs;
  for (const std::size_t run : group.runs) {
    runs.push_back(&comparison.runs[run]);
  }
  return runs;
}

std::vector<double> values_of(const ComparedRuns& runs, Figure figure) {
  std::vector<double> values;
  for (const ComparedRun* run : runs) {
    if ((*run)[figure]) {
      values.push_back((*run)[figure]->value);
    }
  }
  return values;
}

std::optional<Estimate> estimate_of(std::span<const double> values, double confidence) {
  if (values.empty()) {
    return std::nullopt;
  }
  return Estimate{.mean = *math::mean(values),
                  .min = *std::ranges::min_element(values),
                  .max = *std::ranges::max_element(values),
                  .count = values.size(),
                  .sd = math::standard_deviation(values),
                  .interval = math::mean_interval(values, confidence)};
}

void fill(Group& group, const ComparedRuns& runs, double confidence) {
  for (std::size_t at = 0; at < kFigures; ++at) {
    group.figures[at] = estimate_of(values_of(runs, figure_at(at)), confidence);
  }
  group.gpus = gpus_of(runs);
  group.accounting = mean_accounting(runs);
  take_verdicts(runs, group);
}

bool is_same_everywhere(const Comparison& comparison, std::size_t key) {
  return std::ranges::all_of(comparison.groups, [&](const Group& group) {
    return group.values[key] == comparison.groups.front().values[key];
  });
}

std::string shown_value(const Comparison& comparison, std::size_t group, std::size_t key) {
  const std::optional<std::string>& value = comparison.groups[group].values[key];
  if (!value) {
    return "–";
  }
  const bool is_cut = is_of_folders(comparison.keys[key]) && !is_same_everywhere(comparison, key);
  return is_cut ? value->substr(common_start(comparison, key)) : *value;
}

void name_groups(Comparison& comparison) {
  const bool is_single = comparison.groups.size() == 1;
  for (std::size_t group = 0; group < comparison.groups.size(); ++group) {
    std::string name;
    for (std::size_t key = 0; key < comparison.keys.size(); ++key) {
      const bool is_known = comparison.groups[group].values[key].has_value();
      if (is_known && (is_single || !is_same_everywhere(comparison, key))) {
        name += (name.empty() ? "" : " ") + shown_value(comparison, group, key);
      }
    }
    comparison.groups[group].name = name.empty() ? (is_single ? "all runs" : "–") : name;
  }
}

}  // namespace chokepoint::analysis
