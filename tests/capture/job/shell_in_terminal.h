// A real interactive bash at a terminal whose keyboard and screen are in the test's hands.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/sys/descriptor.h"

namespace chokepoint::capture::job {

class ShellInTerminal {
 public:
  ShellInTerminal();
  ~ShellInTerminal();
  ShellInTerminal(const ShellInTerminal&) = delete;
  ShellInTerminal& operator=(const ShellInTerminal&) = delete;

  void type(const std::string& keys) const;
  // What the screen shows from now on, until the word or for some seconds.
  std::string read_until(const std::string& word);
  // Types a command, and reads what it and the prompt after it show.
  std::string command(const std::string& line);
  void resize(int rows, int columns) const;

 private:
  sys::Descriptor screen_;
  pid_t pid_ = -1;
  std::string ahead_ = {};
};

inline constexpr const char* kPrompt = "%prompt% ";

}  // namespace chokepoint::capture::job
