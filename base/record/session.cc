#include "base/record/session.h"

#include <algorithm>

namespace chokepoint::record {
namespace {

bool is_plain(const std::string& argument) {
  return !argument.empty() && std::ranges::all_of(argument, [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           std::string("_-./=:,@%+").find(static_cast<char>(letter)) != std::string::npos;
  });
}

std::string quoted(const std::string& argument) {
  if (is_plain(argument)) {
    return argument;
  }
  std::string text = "'";
  for (const char letter : argument) {
    text += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return text + "'";
}

// A boot's monotonic clock begins anew: the wall clock tells how far it lies behind, and no time
// is given twice even where that was set back.
std::int64_t shift_of(const Session& session, const std::vector<Session>& before) {
  if (before.empty()) {
    return 0;
  }
  const Session& last = before.back();
  if (!session.boot_id.empty() && session.boot_id == last.boot_id) {
    return last.shift_ns;
  }
  const std::int64_t by_wall =
      last.start_ns + (session.start_wall_ns - last.start_wall_ns) - session.start_ns;
  const std::int64_t least = last.seen_ns + 1 - session.start_ns;
  return std::max(by_wall, least);
}

}  // namespace

std::string shell_line(std::span<const std::string> arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    line += (line.empty() ? "" : " ") + quoted(argument);
  }
  return line;
}

Session begin_session(Session session, const std::vector<Session>& before, const sys::Root& root,
                      const sys::Clock& clock) {
  session.host = root.text("/proc/sys/kernel/hostname").value_or("");
  session.kernel = root.text("/proc/sys/kernel/osrelease").value_or("");
  session.boot_id = root.text("/proc/sys/kernel/random/boot_id").value_or("");
  session.start_ns = clock.monotonic_ns();
  session.start_wall_ns = clock.wall_ns();
  session.shift_ns = shift_of(session, before);
  session.start_ns += session.shift_ns;
  session.seen_ns = session.start_ns;
  return session;
}

}  // namespace chokepoint::record
