#include "analysis/report/node_facts.h"

#include <algorithm>
#include <charconv>
#include <ranges>

namespace chokepoint::analysis {

const record::Fact* fact_of(const NodeData& node, std::string_view category,
                            std::string_view subject, std::string_view key) {
  for (const record::Fact& fact : node.facts | std::views::reverse) {
    if (fact.category == category && fact.subject == subject && fact.key == key) {
      return &fact;
    }
  }
  return nullptr;
}

std::string text_of(const NodeData& node, std::string_view category, std::string_view subject,
                    std::string_view key) {
  const record::Fact* fact = fact_of(node, category, subject, key);
  return fact == nullptr ? "" : fact->value;
}

std::optional<double> number_of(const NodeData& node, std::string_view category,
                                std::string_view subject, std::string_view key) {
  const std::string text = text_of(node, category, subject, key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  // Which "nan" and "inf" are not.
  constexpr double kMost = 1e18;
  return is_whole && value >= 0 && value <= kMost ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> count_of(const NodeData& node, std::string_view category,
                                     std::string_view subject, std::string_view key) {
  const auto number = number_of(node, category, subject, key);
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

std::vector<std::string> subjects_of(const NodeData& node, std::string_view category) {
  std::vector<std::string> subjects;
  for (const record::Fact& fact : node.facts) {
    if (fact.category == category && !fact.subject.empty() &&
        std::ranges::find(subjects, fact.subject) == subjects.end()) {
      subjects.push_back(fact.subject);
    }
  }
  return subjects;
}

}  // namespace chokepoint::analysis
