// The fields of a page of text: a line is a label and what is said of it.
#pragma once

#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace chokepoint::fakes {

// The first word of each line.
inline std::vector<std::string> labels_of(const std::string& page) {
  std::vector<std::string> labels;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    words >> labels.emplace_back();
  }
  return labels;
}

// What the first line with this label says, nothing where no line has it.
inline std::optional<std::string> row(const std::string& page, std::string_view label) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos &&
        std::string_view(line).substr(begin).starts_with(std::string(label) + ' ')) {
      const std::size_t said = line.find_first_not_of(' ', begin + label.size());
      return said == std::string::npos ? "" : line.substr(said);
    }
  }
  return std::nullopt;
}

// The same, cell by cell: two spaces or more stand between those of a table. Empty ones are left
// out.
inline std::vector<std::string> cells(const std::string& page, std::string_view label) {
  std::vector<std::string> all;
  std::string rest = row(page, label).value_or("");
  while (!rest.empty()) {
    const std::size_t end = rest.find("  ");
    all.push_back(rest.substr(0, end));
    const std::size_t next = end == std::string::npos ? end : rest.find_first_not_of(' ', end);
    rest = next == std::string::npos ? "" : rest.substr(next);
  }
  return all;
}

}  // namespace chokepoint::fakes
