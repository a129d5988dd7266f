// Programs that were started here, each held by a pipe to its standard input: it has its first line
// from there, and knows by its end that nobody wants it any more. What they print, on either
// stream, comes back in lines. Owns the processes; one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/process.h"

namespace chokepoint::preflight {

class Children {
 public:
  using Who = std::size_t;
  struct Listener {
    std::function<void(Who, std::string_view line)> said;
    // It is no longer among the children, and may be started again.
    std::function<void(Who, const sys::ExitStatus&)> ended;
  };

  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Held by a pipe that has this line in it.
  Result<> start_held(Who who, sys::Spawn spawn, const std::string& first_line);
  // With the standard input that is given.
  Result<> start(Who who, sys::Spawn spawn);

  // Until one of them has said something or ended, one of `others` is readable, or the time is
  // over; then the listener is told all there is.
  void attend(const std::vector<int>& others, int timeout_ms, const Listener& listener);

  // Lets all go, and after the grace ends those that are still there: by SIGTERM, then by SIGKILL.
  void end_all(int grace_ms, const sys::Clock& clock);

 private:
  struct Child {
    sys::Process process;
    sys::Descriptor input;
    sys::Descriptor output;
    std::string unfinished = {};  // line
  };

  Result<> add(Who who, sys::Spawn spawn, sys::Descriptor held);
  std::vector<Who> await(const std::vector<int>& others, int timeout_ms) const;
  void look_at(Who who, const Listener& listener);
  bool await_ends(int timeout_ms, const sys::Clock& clock);
  void signal_all(int number) const;

  std::map<Who, Child> children_;
};

}  // namespace chokepoint::preflight
