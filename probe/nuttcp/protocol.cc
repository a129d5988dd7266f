#include "probe/nuttcp/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace chokepoint::probe::nuttcp {
namespace {

constexpr std::string_view kHello = "HELO nuttcp v";

std::string_view without_line_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) {
    line.remove_suffix(1);
  }
  return line;
}

// The number at the front, taken away together with the dot behind it.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number > 999) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) {
    text.remove_prefix(1);
  }
  return number;
}

// What came in place of a line, fit for one line of an error.
std::string shown(std::string_view line) {
  std::string text(line.substr(0, std::min<std::size_t>(line.size(), 40)));
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace

std::string Version::text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

std::string hello_line() { return fmt::format("{}{}\n", kHello, kOwnVersion.text()); }

Result<Version> read_hello(std::string_view line) {
  std::string_view rest = without_line_end(line);
  if (!rest.starts_with(kHello)) {
    return fail(ErrorKind::Malformed, "greet", "nuttcp's peer",
                fmt::format("it says '{}'", shown(rest)), "is 'nuttcp -S' running there?");
  }
  rest.remove_prefix(kHello.size());
  const std::optional<int> major = take_number(rest);
  const std::optional<int> minor = take_number(rest);
  const std::optional<int> patch = take_number(rest);
  // A beta's letter may follow.
  if (!major || !minor || !patch || rest.size() > 8) {
    return fail(ErrorKind::Malformed, "greet", "nuttcp's peer", "its version cannot be read");
  }
  return Version{.major = *major, .minor = *minor, .patch = *patch};
}

std::string ok_line() { return fmt::format("OK v{}\n", kOwnVersion.text()); }

std::string refusal(std::string_view why) { return fmt::format("KO\n{}\nKO\n", shown(why)); }

Result<Answer> read_answer(std::string_view line) {
  const std::string_view word = without_line_end(line);
  if (word.starts_with("OK")) {
    return Answer::Ok;
  }
  if (word == "KO") {
    return Answer::Refused;
  }
  return fail(ErrorKind::Malformed, "ask for a test", "nuttcp's peer",
              fmt::format("it says '{}'", shown(word)));
}

std::optional<Mark> mark_of(std::span<const std::byte> datagram) {
  if (datagram.size() != 4) {
    return std::nullopt;
  }
  const std::string_view text(reinterpret_cast<const char*>(datagram.data()), 3);
  if (text == "BOD") {
    return Mark::Begin;
  }
  return text == "EOD" ? std::optional(Mark::End) : std::nullopt;
}

}  // namespace chokepoint::probe::nuttcp
