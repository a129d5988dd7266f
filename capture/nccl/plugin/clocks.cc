#include "capture/nccl/plugin/clocks.h"

#include <string.h>

namespace chokepoint::capture::nccl::plugin {
namespace {

constexpr std::uint64_t kMaxSeconds = 3'600;

// Advances `text`; false if there is no number, or one too large.
bool read_number(const char*& text, std::uint64_t& number) {
  const char* const begin = text;
  number = 0;
  for (; *text >= '0' && *text <= '9' && number <= kMaxSeconds; ++text) {
    number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  }
  return text != begin && number <= kMaxSeconds;
}

}  // namespace

bool Window::is_on(std::uint64_t wall_ns, std::uint64_t age_ns) const {
  return age_ns / kSecond < first_s || wall_ns / kSecond % of_s < on_s;
}

// Windows begin and end at whole seconds. Asking every second also covers a wall clock that was
// set.
std::uint64_t Window::left_ns(std::uint64_t wall_ns) const { return kSecond - wall_ns % kSecond; }

Window window_of(const char* text) {
  if (text == nullptr) {
    return {};
  }
  if (strcmp(text, "all") == 0) {
    return {.on_s = 1, .of_s = 1, .first_s = 0};
  }
  std::uint64_t on = 0;
  std::uint64_t of = 1;
  if (!read_number(text, on)) {
    return {};
  }
  if (*text == '\0') {
    return on == 0 ? Window{.on_s = 0, .of_s = 1, .first_s = 0} : Window{};
  }
  if (*text != '/') {
    return {};
  }
  ++text;
  const bool is_share = read_number(text, of) && *text == '\0' && of != 0 && on <= of;
  return is_share ? Window{.on_s = on, .of_s = of, .first_s = 0} : Window{};
}

}  // namespace chokepoint::capture::nccl::plugin
