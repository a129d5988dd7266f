#include <fmt/format.h>
#include <fmt/ostream.h>

#include "analysis/commands/compare_views.h"
#include "analysis/compare/noise.h"
#include "base/cli/table.h"

namespace chokepoint::analysis {
namespace {

// Fields of one line; texts are quoted, numbers are as they are.
class Line {
 public:
  void text(const std::string& text) { put(cli::csv_text(text)); }
  void number(std::optional<double> value) { put(value ? fmt::format("{:.10g}", *value) : ""); }
  void count(std::size_t value) { put(fmt::format("{}", value)); }
  void print(std::ostream& out) const { out << line_ << "\r\n"; }

 private:
  void put(const std::string& field) {
    line_ += (is_first_ ? "" : ",") + field;
    is_first_ = false;
  }
  std::string line_;
  bool is_first_ = true;
};

std::optional<double> low_of(const std::optional<math::Interval>& interval) {
  return interval ? std::optional(interval->low) : std::nullopt;
}

std::optional<double> high_of(const std::optional<math::Interval>& interval) {
  return interval ? std::optional(interval->high) : std::nullopt;
}

void print_head(std::ostream& out, const Comparison& comparison) {
  Line line;
  for (const std::string& key : comparison.keys) {
    line.text(key);
  }
  line.text("runs");
  line.text("gpus");
  for (std::size_t at = 0; at < kFigures; ++at) {
    const std::string key = traits_of(figure_at(at)).key;
    for (const char* part : {"", "_sd", "_low", "_high", "_min", "_max"}) {
      line.text(key + part);
    }
  }
  for (const char* title :
       {"verdict", "baseline", "change_percent", "change_low_percent", "change_high_percent",
        "test", "p", "p_corrected", "beyond_noise", "cause"}) {
    line.text(title);
  }
  line.print(out);
}

void add(Line& line, const std::optional<Estimate>& estimate) {
  const auto part = [&](double Estimate::* member) {
    return estimate ? std::optional((*estimate).*member) : std::nullopt;
  };
  line.number(part(&Estimate::mean));
  line.number(estimate ? estimate->sd : std::nullopt);
  line.number(estimate ? low_of(estimate->interval) : std::nullopt);
  line.number(estimate ? high_of(estimate->interval) : std::nullopt);
  line.number(part(&Estimate::min));
  line.number(part(&Estimate::max));
}

void add(Line& line, const Comparison& comparison, const Difference& difference) {
  line.text(comparison.groups[difference.baseline].name);
  line.number(difference.change_percent);
  line.number(low_of(difference.percent));
  line.number(high_of(difference.percent));
  line.text(difference.test ? name_of(*difference.test) : "");
  line.number(difference.p);
  line.number(difference.p_corrected);
  line.text(difference.is_beyond_noise ? "yes" : "no");
  line.text(difference.causes.empty() ? "" : name_of(difference.causes.front().account));
}

}  // namespace

void print_csv(std::ostream& out, const Comparison& comparison) {
  print_head(out, comparison);
  for (const Group& group : comparison.groups) {
    Line line;
    for (const std::optional<std::string>& value : group.values) {
      line.text(value.value_or(""));
    }
    line.count(group.runs.size());
    line.number(group.gpus ? std::optional(static_cast<double>(*group.gpus)) : std::nullopt);
    for (const std::optional<Estimate>& estimate : group.figures) {
      add(line, estimate);
    }
    line.text(name_of(group.verdict));
    if (group.difference) {
      add(line, comparison, *group.difference);
    } else {
      constexpr int kFieldsOfDifference = 9;
      for (int field = 0; field < kFieldsOfDifference; ++field) {
        line.text("");
      }
    }
    line.print(out);
  }
}

}  // namespace chokepoint::analysis
