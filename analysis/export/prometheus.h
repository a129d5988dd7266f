// A run's final figures in Prometheus' text format, for the textfile collector of node_exporter:
// what `run --metrics` serves while a job runs, as it stood at the end, and the verdict. Every
// sample names its run, so that files of several runs may lie in one folder. No times: the
// collector refuses them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/attribution/diagnosis.h"
#include "analysis/export/exported_run.h"

namespace chokepoint::analysis {

std::string prometheus_text(ExportedRun& run, const Diagnosis& diagnosis);

// Writes Prometheus' text format: each family once with its HELP and TYPE and all its samples.
// Samples may be added in any order; one with the name and labels of an earlier one replaces it. A
// value.

class MetricText {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // `common`: labels of every sample.
  explicit MetricText(Labels common) : common_(std::move(common)) {}

  // An unknown value adds nothing.
  void counter(const std::string& name, std::string_view help, std::optional<double> value,
               const Labels& labels = {});
  void gauge(const std::string& name, std::string_view help, std::optional<double> value,
             const Labels& labels = {});
  std::string text() const;

 private:
  struct Family {
    const char* type = "";
    std::string_view help = {};
    std::vector<std::pair<std::string, double>> samples = {};  // by labels, as they are written
  };
  void add(const std::string& name, const char* type, std::string_view help,
           std::optional<double> value, const Labels& labels);
  std::string written(const Labels& labels) const;

  Labels common_;
  std::vector<std::string> order_;
  std::map<std::string, Family> families_;
};

// A valid name of a label: all but letters, digits and _ become _.
std::string label_name(const std::string& text);

}  // namespace chokepoint::analysis
