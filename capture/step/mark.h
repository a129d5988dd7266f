// A mark as it travels: one datagram of words, and how it is sent. Values.
//
//   NAME [NUMBER] [samples=N] [rank=R] [t=monotonic ns]
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::capture::step {

inline constexpr std::string_view kMarksVariable = "CHOKEPOINT_MARKS";
inline constexpr std::string_view kStepMark = "step";

struct Mark {
  std::string name = {};
  std::optional<std::int64_t> number = {};
  std::optional<std::int64_t> samples = {};
  std::optional<int> rank = {};
  std::optional<std::int64_t> t_ns = {};  // monotonic, when it was sent
};

// One word of at most 64 printable bytes without '='.
bool is_mark_name(std::string_view name);

// Nothing where it is no mark. Words that are not known are for later versions.
std::optional<Mark> read_mark(std::string_view datagram);
std::string text_of(const Mark& mark);

// Never waits: what the listener has no room for is lost, and that is an error.
Result<> send_mark(const std::filesystem::path& socket, const Mark& mark);

}  // namespace chokepoint::capture::step
