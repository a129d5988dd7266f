// Lines on a terminal that are redrawn in place: what does not fit is cut off, so that going up by
// as many lines as were drawn always leads to the first. Erases them when it goes. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/cli/context.h"

namespace chokepoint::capture {

class Screen {
 public:
  // On standard error; invisible where that is no terminal, or quiet is asked for.
  explicit Screen(const cli::Context& context);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  bool is_visible() const { return is_visible_; }
  // As it is now: people change the size of their windows.
  const cli::Terminal& terminal() const { return terminal_; }
  // How many lines there are.
  std::size_t room() const { return room_; }

  void draw(const std::vector<std::string>& lines);

 private:
  void measure();
  std::string back() const;

  const cli::Context& context_;
  bool is_visible_;
  cli::Terminal terminal_;
  std::size_t room_ = 0;
  std::size_t drawn_ = 0;
};

// The first `width` letters of a line; the codes for colour take no room.
std::string cut(const std::string& line, std::size_t width);

}  // namespace chokepoint::capture
