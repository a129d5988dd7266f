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

}  // namespace chokepoint::fakes
