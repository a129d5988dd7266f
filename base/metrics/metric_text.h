// Metrics in Prometheus' text format, version 0.0.4: what `run --metrics` serves and what `export`
// writes. Every family's name begins with "chokepoint_". Values; any thread.
//
//   # HELP chokepoint_steps_total Steps of the rank that has most.
//   # TYPE chokepoint_steps_total counter
//   chokepoint_steps_total{source="marks"} 1120
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chokepoint::metrics {

// Names and values. Names as label_name() makes them; a value may be any text.
using Labels = std::vector<std::pair<std::string, std::string>>;

// Each family is written once, with its HELP and TYPE and all its samples. Samples may be added in
// any order; one with the name and labels of an earlier one replaces it.
class MetricText {
 public:
  struct Sample {
    std::string written = {};  // all labels, as they are in the text
    Labels labels = {};        // without the common ones
    double value = 0;
  };
  struct Family {
    std::string name = {};
    bool is_counter = false;  // else a gauge
    std::string help = {};
    std::vector<Sample> samples = {};  // at least one
  };

  // `common`: labels of every sample.
  explicit MetricText(Labels common = {}) : common_(std::move(common)) {}

  // A value that is unknown, infinite or not a number adds nothing. `help` is one line without a
  // backslash, copied from the family's first sample.
  void counter(const std::string& name, std::string_view help, std::optional<double> value,
               const Labels& labels = {});
  void gauge(const std::string& name, std::string_view help, std::optional<double> value,
             const Labels& labels = {});

  const std::vector<Family>& families() const { return families_; }
  std::string text() const;

 private:
  void add(const std::string& name, bool is_counter, std::string_view help,
           std::optional<double> value, const Labels& labels);
  std::string written(const Labels& labels) const;

  Labels common_;
  std::vector<Family> families_;
  std::map<std::string, std::size_t> places_;  // in families_, by name
};

// All but ASCII letters, digits and _ become _. Valid behind a prefix: it may begin with a digit.
std::string label_name(const std::string& text);

// Adds a run's own labels, with label_ before their names. Prometheus refuses a sample with two
// labels of one name; of those that become equal the first is kept.
void add_run_labels(Labels& labels, const std::map<std::string, std::string>& own);

}  // namespace chokepoint::metrics
