#include "analysis/compare/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

using KeyValues = std::vector<std::optional<std::string>>;

constexpr std::array<std::string_view, 6> kRepetitions{"repetition", "repeat", "rep",
                                                       "run",        "seed",   "trial"};
constexpr std::array<std::string_view, 3> kUsual{"setup", "parallelism", "batch"};
constexpr std::array<std::string_view, 9> kDerived{
    "setup", "nodes", "gpus_per_node", "gpus", "folder", "path", "verdict", "facts", "date"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  const auto value = sys::parse_number<std::int64_t>(text);
  return value && *value > 0 && *value < 1'000'000 ? value : std::nullopt;
}

std::optional<Setup> setup_of_run(const ComparedRun& run) {
  if (const std::optional<Setup> setup = setup_of(run.labels)) {
    return setup;
  }
  const auto nodes = static_cast<std::int64_t>(run.nodes.size());
  return run.gpus && nodes > 0 && *run.gpus % nodes == 0
             ? std::optional(Setup{.nodes = nodes, .each = *run.gpus / nodes})
             : std::nullopt;
}

std::string text_of(std::int64_t number) { return fmt::format("{}", number); }

std::optional<std::string> derived(const ComparedRun& run, const std::string& key) {
  if (key == "folder") return run.folder;
  if (key == "path") return run.path;
  if (key == "facts") return run.facts.empty() ? std::nullopt : std::optional(run.facts);
  if (key == "date") return run.date.empty() ? std::nullopt : std::optional(run.date);
  if (key == "verdict") return name_of(run.verdict.verdict);
  if (key == "gpus") return run.gpus ? std::optional(text_of(*run.gpus)) : std::nullopt;
  const std::optional<Setup> setup = setup_of_run(run);
  if (key == "nodes") {
    return text_of(setup ? setup->nodes : static_cast<std::int64_t>(run.nodes.size()));
  }
  if (!setup) return std::nullopt;
  if (key == "setup") return fmt::format("{}x{}", setup->nodes, setup->each);
  if (key == "gpus_per_node") return text_of(setup->each);
  return std::nullopt;
}

KeyValues key_values_of(const std::vector<ComparedRun>& runs, const std::string& key) {
  KeyValues values;
  for (const ComparedRun& run : runs) {
    values.push_back(value_of(run, key));
  }
  return values;
}

bool differ(const KeyValues& values) {
  return std::ranges::any_of(values, [&](const auto& value) { return value != values.front(); });
}

std::vector<std::string> values_under(const ComparedRun& run,
                                      const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    const std::optional<std::string> value = value_of(run, key);
    values.push_back(value ? "=" + *value : "");
  }
  return values;
}

// Runs of several folders that would be one row, and that no label marks as repetitions. Runs that
// were named one by one are distinguished by their labels, if these differ.
bool are_thrown_together(const std::vector<ComparedRun>& runs,
                         const std::vector<std::string>& keys) {
  struct Row {
    std::set<std::string> folders = {};
    std::set<std::vector<std::string>> repetitions = {};
    std::size_t runs = 0;
  };
  const std::vector<std::string> numbering(kRepetitions.begin(), kRepetitions.end());
  std::map<std::vector<std::string>, Row> rows;
  for (const ComparedRun& run : runs) {
    Row& row = rows[values_under(run, keys)];
    row.folders.insert(run.folder);
    row.repetitions.insert(values_under(run, numbering));
    ++row.runs;
  }
  const bool are_named_singly =
      std::ranges::all_of(runs, [](const ComparedRun& run) { return run.path == run.folder; });
  if (are_named_singly && rows.size() > 1) {
    return false;
  }
  return std::ranges::any_of(rows, [](const auto& each) {
    const Row& row = each.second;
    return row.folders.size() > 1 && row.repetitions.size() < row.runs;
  });
}

// Documents that were named one by one, and that differ in how their hosts were set up.
bool are_repeated_files(const std::vector<ComparedRun>& runs) {
  return std::ranges::all_of(
      runs, [](const ComparedRun& run) { return run.path == run.folder && !run.facts.empty(); });
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
// The digits that begin here, without the zeros before them.
std::string_view number_at(std::string_view text) {
  const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size());
  const auto end = std::ranges::find_if_not(text.substr(zeros), is_digit);
  return text.substr(zeros, static_cast<std::size_t>(end - text.substr(zeros).begin()));
}

std::size_t digits_at(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

}  // namespace

std::optional<std::int64_t> count_of(const std::map<std::string, std::string>& labels,
                                     const std::string& key) {
  const auto label = labels.find(key);
  return label == labels.end() ? std::nullopt : whole_number(label->second);
}

std::optional<Setup> setup_of(const std::map<std::string, std::string>& labels) {
  if (const auto setup = labels.find("setup"); setup != labels.end()) {
    const std::string_view text = setup->second;
    const std::size_t times = text.find_first_of("xX");
    if (times != std::string_view::npos) {
      const auto nodes = whole_number(text.substr(0, times));
      const auto each = whole_number(text.substr(times + 1));
      if (nodes && each) {
        return Setup{.nodes = *nodes, .each = *each};
      }
    }
  }
  const std::optional<std::int64_t> nodes = count_of(labels, "nodes");
  const std::optional<std::int64_t> each = count_of(labels, "gpus_per_node");
  return nodes && each ? std::optional(Setup{.nodes = *nodes, .each = *each}) : std::nullopt;
}

bool is_derived(const std::string& key) { return holds(kDerived, key); }

std::optional<std::string> value_of(const ComparedRun& run, const std::string& key) {
  const auto label = run.labels.find(key);
  return label == run.labels.end() ? derived(run, key) : std::optional(label->second);
}

std::set<std::string> all_labels(const std::vector<ComparedRun>& runs) {
  std::set<std::string> names;
  for (const ComparedRun& run : runs) {
    for (const auto& [name, value] : run.labels) {
      names.insert(name);
    }
  }
  return names;
}

std::vector<std::string> usual_keys(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> keys;
  const std::set<std::string> labels = all_labels(runs);
  for (const std::string& name : labels) {
    if (!holds(kRepetitions, name) && !holds(kUsual, name) && differ(key_values_of(runs, name))) {
      keys.push_back(name);
    }
  }
  for (const std::string_view name : kUsual) {
    const std::string key(name);
    if (labels.contains(key) || differ(key_values_of(runs, key))) {
      keys.push_back(key);
    }
  }
  if (are_thrown_together(runs, keys)) {
    keys.insert(keys.begin(), are_repeated_files(runs) ? "facts" : "folder");
  }
  if (keys.empty() && !differ(key_values_of(runs, "folder"))) {
    keys.emplace_back("folder");
  }
  return keys;
}

std::strong_ordering natural_order(std::string_view one, std::string_view other) {
  while (!one.empty() && !other.empty()) {
    if (is_digit(one.front()) && is_digit(other.front())) {
      const std::string_view first = number_at(one);
      const std::string_view second = number_at(other);
      if (first.size() != second.size()) {
        return first.size() <=> second.size();
      }
      if (const auto order = first.compare(second); order != 0) {
        return order <=> 0;
      }
      one.remove_prefix(digits_at(one));
      other.remove_prefix(digits_at(other));
    } else if (one.front() != other.front()) {
      return one.front() <=> other.front();
    } else {
      one.remove_prefix(1);
      other.remove_prefix(1);
    }
  }
  return one.size() <=> other.size();
}

}  // namespace chokepoint::analysis
