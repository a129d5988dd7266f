#include "analysis/commands/compare_flags.h"

#include <algorithm>
#include <filesystem>

#include "analysis/commands/compare_folders.h"

namespace chokepoint::analysis {
namespace {

Result<Condition> condition_of(const std::string& text) {
  Condition condition;
  for (const std::string& part : split(text)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorKind::Usage, "", "--baseline " + text, "is no folder and not KEY=VALUE",
                  "for one: --baseline setup=1x1");
    }
    condition[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return condition;
}

}  // namespace

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    if (comma > from) {
      parts.push_back(list.substr(from, comma - from));
    }
    from = comma + 1;
  }
  return parts;
}

Result<std::optional<Figure>> figure_named(const std::string& option, const std::string& name) {
  const std::optional<Figure> figure = figure_of(name);
  if (!figure && !name.empty()) {
    return fail(ErrorKind::Usage, "", option + " " + name, "is no figure",
                "'chokepoint compare --help' names them");
  }
  return figure;
}

Result<std::optional<Figure>> metric_of(const std::string& name) {
  const Result<std::optional<Figure>> figure = figure_named("--metric", name);
  if (figure && *figure == Figure::ScalingFactor) {
    return fail(ErrorKind::Usage, "", "--metric " + name,
                "belongs to rows, so no test can be made of it", "take samples_per_s");
  }
  return figure;
}

Result<Baseline> read_baseline(const std::string& text, const std::vector<std::string>& folders) {
  if (text.empty()) {
    return Baseline{};
  }
  const std::string name = plain_name(text);
  const bool is_given = std::ranges::any_of(
      folders, [&](const std::string& folder) { return plain_name(folder) == name; });
  std::error_code error;
  if (is_given || std::filesystem::exists(name, error)) {
    return Baseline{
        .condition = Condition{{"folder", name}}, .is_folder = true, .added = is_given ? "" : text};
  }
  const Result<Condition> condition = condition_of(text);
  return condition ? Result<Baseline>(Baseline{.condition = *condition}) : fail(condition.error());
}

}  // namespace chokepoint::analysis
