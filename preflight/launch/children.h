// Child processes, each with a pipe to its standard input: a child reads its first line from there,
// and has to end when the pipe is closed. What it prints, on either stream, is returned in lines.
// Owns the processes; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/child_output.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/process.h"

namespace chokepoint::preflight {

class Children {
 public:
  using Who = std::size_t;
  struct Listener {
    std::function<void(Who, std::string_view line)> printed;
    // It is no longer among the children, and may be started again.
    std::function<void(Who, const sys::ExitStatus&)> ended;
  };

  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // With a pipe as its standard input, which has this line in it and stays open.
  Result<> start_held(Who who, sys::Spawn spawn, const std::string& first_line);
  // With the standard input that is given.
  Result<> start(Who who, sys::Spawn spawn);

  // Until one of them has printed something or ended, one of `others` is readable, or the time is
  // over; then the listener gets all there is.
  void poll(const std::vector<int>& others, int timeout_ms, const Listener& listener);

  // Lets all go, and after the grace ends those that are still there: by SIGTERM, then by SIGKILL.
  void end_all(int grace_ms, const sys::Clock& clock);

 private:
  struct Child {
    sys::ChildOutput output;
    sys::Descriptor input;
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
