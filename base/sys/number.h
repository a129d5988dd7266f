// Numbers from text that was written by others: the kernel, a user, another program. The whole text
// has to be the number, as std::from_chars reads it: no white space, no '+', no unit, '-' only for
// signed types, and within the type's range. Any thread.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace chokepoint::sys {

// `base` only for integers; 10 without it.
template <class T, std::same_as<int>... Base>
std::optional<T> parse_number(std::string_view text, Base... base) {
  T value{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value, base...);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// nullopt for a negative number and for NaN, too.
template <class T>
std::optional<T> parse_non_negative(std::string_view text) {
  const std::optional<T> value = parse_number<T>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace chokepoint::sys
