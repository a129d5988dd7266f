// The forms in which training programs print their steps, by name; and an expression of the user's
// own in their place. Linear in the line's length, whatever the line. Immutable; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::capture::step {

// What one line says of its step.
struct Told {
  std::size_t form = 0;
  std::uint64_t series = 0;  // lines that count the same thing have the same
  std::optional<std::int64_t> number = {};
  std::optional<std::int64_t> samples = {};       // since the line before, as the line says
  std::optional<std::int64_t> sample_count = {};  // since the epoch began
  std::optional<double> mean_seconds = {};        // of a step, over all since the line before
};

class LineForms {
 public:
  // Empty: the forms that are known.
  static Result<std::unique_ptr<LineForms>> make(const std::string& expression);
  virtual ~LineForms() = default;

  virtual std::optional<Told> told(std::string_view line) const = 0;
  // Of a line without its end: only what cannot become more with what still comes.
  virtual std::optional<Told> told_by_open(std::string_view line) const = 0;
};

}  // namespace chokepoint::capture::step
