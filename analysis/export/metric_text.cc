#include "analysis/export/metric_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "analysis/export/text.h"

namespace chokepoint::analysis {

void MetricText::counter(const std::string& name, const char* help, std::optional<double> value,
                         const Labels& labels) {
  add(name, "counter", help, value, labels);
}

void MetricText::gauge(const std::string& name, const char* help, std::optional<double> value,
                       const Labels& labels) {
  add(name, "gauge", help, value, labels);
}

void MetricText::add(const std::string& name, const char* type, const char* help,
                     std::optional<double> value, const Labels& labels) {
  if (!value || !std::isfinite(*value)) {
    return;
  }
  const std::string full = "chokepoint_" + name;
  const auto [family, is_new] = families_.try_emplace(full, Family{type, help, {}});
  if (is_new) {
    order_.push_back(full);
  }
  auto& samples = family->second.samples;
  const std::string own = written(labels);
  const auto same = std::ranges::find(samples, own, &std::pair<std::string, double>::first);
  if (same == samples.end()) {
    samples.emplace_back(own, *value);
  } else {
    same->second = *value;
  }
}

std::string MetricText::written(const Labels& labels) const {
  std::string text;
  for (const Labels* part : {&common_, &labels}) {
    for (const auto& [name, value] : *part) {
      text += text.empty() ? "" : ",";
      text += name + "=\"";
      append_label(text, value);
      text += '"';
    }
  }
  return text.empty() ? text : "{" + text + "}";
}

std::string MetricText::text() const {
  std::string text;
  for (const std::string& name : order_) {
    const Family& family = families_.at(name);
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, family.help, name, family.type);
    for (const auto& [labels, value] : family.samples) {
      text += fmt::format("{}{} {}\n", name, labels, value);
    }
  }
  return text;
}

std::string label_name(const std::string& text) {
  std::string name = text;
  std::ranges::replace_if(
      name, [](unsigned char letter) { return letter >= 0x80 || std::isalnum(letter) == 0; }, '_');
  return name;
}

}  // namespace chokepoint::analysis
