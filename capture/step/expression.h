// A regular expression whose named groups say what a line tells of a step. By RE2: linear in the
// length of the line, and bounded in memory, whatever the expression. Immutable; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace re2 {
class RE2;
}

namespace chokepoint::capture::step {

// What the groups caught; empty where a group is not there or caught nothing.
struct Caught {
  std::size_t begin = 0;  // of the match
  std::string_view step = {};
  std::string_view total = {};
  std::string_view samples = {};
  std::string_view sample_count = {};
  std::string_view seconds = {};
  std::string_view ms = {};
};

class Expression {
 public:
  enum class Text { Utf8, Bytes };

  static Result<Expression> make(const std::string& pattern, Text text);
  Expression(Expression&&) noexcept;
  ~Expression();

  std::optional<Caught> match(std::string_view line) const;
  bool counts() const { return has_step_; }  // says a step's number

 private:
  explicit Expression(std::unique_ptr<re2::RE2> expression);

  std::unique_ptr<re2::RE2> expression_;
  bool has_step_ = false;
};

}  // namespace chokepoint::capture::step
