// What a program said before it ended, and the one line of it that tells why. Values.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "base/sys/process.h"

namespace chokepoint::preflight {

class Told {
 public:
  void add(std::string_view line);
  void clear() { lines_.clear(); }

  // `program` is who was started here: "ssh", "srun". Its last words, with a next step where they
  // are known ones; its exit status where it had none.
  Error why(std::string_view program, const std::string& host, const sys::ExitStatus& status) const;

 private:
  std::deque<std::string> lines_;
};

}  // namespace chokepoint::preflight
