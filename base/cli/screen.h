// A terminal on which a view is redrawn: its second screen, so that the earlier content returns
// afterwards; without a cursor; keys are read as they are typed. Ctrl-C stays a signal; Ctrl-Z
// does nothing, since a shell would get back a terminal in this state. The destructor restores the
// terminal. One thread.
#pragma once

#include <termios.h>

#include <span>
#include <string>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::cli {

struct ScreenSize {
  int columns = 80;
  int rows = 24;
};

class Screen {
 public:
  // `terminal`: "/dev/tty", or another one.
  static Result<Screen> take(const char* terminal);
  Screen(Screen&&) noexcept = default;
  Screen& operator=(Screen&&) = delete;
  ~Screen();

  // Becomes readable when a key was typed.
  int descriptor() const { return terminal_.get(); }
  // What was typed since the last call, as the terminal sends it: "q", "\033[A"; empty if nothing.
  std::string keys() const;
  ScreenSize size() const;
  // From the top; lines are no wider than the screen, and what is below them is cleared.
  void draw(std::span<const std::string> lines) const;

 private:
  Screen(sys::Descriptor terminal, const termios& before)
      : terminal_(std::move(terminal)), before_(before) {}
  void write(std::string_view text) const;

  sys::Descriptor terminal_;
  termios before_;
};

}  // namespace chokepoint::cli
