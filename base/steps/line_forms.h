// The forms in which training programs print their steps, or a user's own expression. Linear in the
// length of the line, whatever it contains. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::steps {

// What one line holds about its step.
struct ParsedLine {
  std::uint64_t series = 0;  // lines that count the same thing have the same
  std::optional<std::int64_t> number = {};
  std::optional<std::int64_t> samples = {};       // since the line before, by the line
  std::optional<std::int64_t> sample_count = {};  // since the epoch began
  std::optional<double> mean_seconds = {};        // of a step, over all since the line before
};

class LineForms {
 public:
  // Empty: the known forms.
  static Result<std::unique_ptr<LineForms>> make(const std::string& expression);
  virtual ~LineForms() = default;

  virtual std::optional<ParsedLine> parse(std::string_view line) const = 0;
  // Of a line without its end: only what further bytes cannot change.
  virtual std::optional<ParsedLine> parse_open(std::string_view line) const = 0;
};

}  // namespace chokepoint::steps
