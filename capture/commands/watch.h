// What the command does while the observer works: waits for its end or for the user's, and shows
// how it goes. The command's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/cli/context.h"
#include "capture/commands/ranking.h"
#include "capture/observer/observer.h"

namespace chokepoint::capture {

struct WatchOptions {
  std::string source = {};
  bool is_live = false;
  std::chrono::nanoseconds most_time{0};  // of a live capture; 0: until somebody ends it
  SortBy sort = SortBy::Rate;
  std::size_t top = 20;
};

// True where the user ended it: `interrupt` became readable.
bool watch(observer::Observer& observer, const WatchOptions& options, int interrupt,
           const cli::Context& context);

}  // namespace chokepoint::capture
