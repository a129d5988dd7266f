// Prometheus' text format: each family once, with its HELP and TYPE, its samples beside each other.
// Samples may come in any order; one of the same name and labels takes the place of the first.
// A value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chokepoint::analysis {

class MetricText {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // Every sample has these, too.
  explicit MetricText(Labels common) : common_(std::move(common)) {}

  // Nothing is added where the value is not known.
  void counter(const std::string& name, const char* help, std::optional<double> value,
               const Labels& labels = {});
  void gauge(const std::string& name, const char* help, std::optional<double> value,
             const Labels& labels = {});
  std::string text() const;

 private:
  struct Family {
    const char* type = "";
    const char* help = "";
    std::vector<std::pair<std::string, double>> samples = {};  // by labels, as they are written
  };
  void add(const std::string& name, const char* type, const char* help, std::optional<double> value,
           const Labels& labels);
  std::string written(const Labels& labels) const;

  Labels common_;
  std::vector<std::string> order_;
  std::map<std::string, Family> families_;
};

// What may stand as a label's name: letters, digits and _, the others become _.
std::string label_name(const std::string& text);

}  // namespace chokepoint::analysis
