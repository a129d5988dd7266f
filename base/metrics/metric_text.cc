#include "base/metrics/metric_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/cli/text.h"

namespace chokepoint::metrics {
namespace {

// For the text between the quotes of a label's value.
void append_label(std::string& out, std::string_view text) {
  cli::each_letter(text, [&](std::string_view letter) {
    if (letter == "\n") {
      out += "\\n";
      return;
    }
    if (letter == "\"" || letter == "\\") {
      out += '\\';
    }
    out += letter;
  });
}

}  // namespace

void MetricText::counter(const std::string& name, std::string_view help,
                         std::optional<double> value, const Labels& labels) {
  add(name, true, help, value, labels);
}

void MetricText::gauge(const std::string& name, std::string_view help, std::optional<double> value,
                       const Labels& labels) {
  add(name, false, help, value, labels);
}

void MetricText::add(const std::string& name, bool is_counter, std::string_view help,
                     std::optional<double> value, const Labels& labels) {
  if (!value || !std::isfinite(*value)) {
    return;
  }
  const std::string full = "chokepoint_" + name;
  const auto [place, is_new] = places_.emplace(full, families_.size());
  if (is_new) {
    families_.push_back({.name = full, .is_counter = is_counter, .help = std::string(help)});
  }
  auto& samples = families_[place->second].samples;
  const std::string own = written(labels);
  const auto same = std::ranges::find(samples, own, &Sample::written);
  if (same == samples.end()) {
    samples.push_back({.written = own, .labels = labels, .value = *value});
  } else {
    same->value = *value;
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
  for (const Family& family : families_) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family.name, family.help, family.name,
                        family.is_counter ? "counter" : "gauge");
    for (const Sample& sample : family.samples) {
      text += fmt::format("{}{} {}\n", family.name, sample.written, sample.value);
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

void add_run_labels(Labels& labels, const std::map<std::string, std::string>& own) {
  for (const auto& [key, value] : own) {
    std::string name = "label_" + label_name(key);
    const auto has_name = [&](const auto& label) { return label.first == name; };
    if (std::ranges::none_of(labels, has_name)) {
      labels.emplace_back(std::move(name), value);
    }
  }
}

}  // namespace chokepoint::metrics
