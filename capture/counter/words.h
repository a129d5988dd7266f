// Words of the kernel's tables one by one, without an allocation: what is read ten times a second.
// Values; what is given refers into the text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace chokepoint::capture::counter {

class Words {
 public:
  explicit Words(std::string_view text, std::string_view separators = " \t\n")
      : text_(text), separators_(separators) {}

  // Empty at the end.
  std::string_view next() {
    const std::size_t first = text_.find_first_not_of(separators_);
    if (first == std::string_view::npos) {
      return text_ = {};
    }
    const std::size_t end = std::min(text_.find_first_of(separators_, first), text_.size());
    const std::string_view word = text_.substr(first, end - first);
    text_.remove_prefix(end);
    return word;
  }
  void skip(std::size_t words) {
    while (words-- > 0) {
      next();
    }
  }

 private:
  std::string_view text_;
  std::string_view separators_;
};

inline Words lines_of(std::string_view text) { return Words(text, "\n"); }

inline std::optional<std::uint64_t> number_in(std::string_view word, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  const bool is_whole = error == std::errc() && end == word.data() + word.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

}  // namespace chokepoint::capture::counter
