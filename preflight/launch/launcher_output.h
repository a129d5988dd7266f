// What a program printed before it ended, and the line of it that gives the reason.
#pragma once

#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "base/sys/process.h"

namespace chokepoint::preflight {

class LauncherOutput {
 public:
  void add(std::string_view line);
  // No agent comes after these words, though the program that printed them has not ended yet.
  bool is_over() const;

  // `program` is who was started here: "ssh", "srun". Known words first, with a next step, then
  // chokepoint's; else the last of ssh's, whose hosts greet, and the first of others, who explain
  // at length. The exit status where nothing was printed.
  Error why(std::string_view program, const std::string& host, const sys::ExitStatus& status) const;

 private:
  std::string first_;
  std::string last_;
  std::string known_;
  std::string own_;  // the last of a chokepoint's
};

}  // namespace chokepoint::preflight
