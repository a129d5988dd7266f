// A bar on standard error for work that takes long: only on a terminal, gone when done. Redraws at
// most ten times a second, so callers may update it as often as they like. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/cli/context.h"

namespace chokepoint::cli {

class Progress {
 public:
  // `total` 0: how much there is to do is not known, and a count is shown instead of a share.
  Progress(const Context& context, std::string title, std::uint64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void update(std::uint64_t done, const std::string& note = {});

 private:
  std::string line(std::uint64_t done, const std::string& note, std::int64_t elapsed_ns) const;

  const Context& context_;
  std::string title_;
  std::uint64_t total_;
  bool visible_;
  std::int64_t started_ns_;
  std::int64_t drawn_ns_ = -1;
};

}  // namespace chokepoint::cli
