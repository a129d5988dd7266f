// What `capture` and `run` show on standard error while they work, so that results can go to
// standard output: a table of flows that is redrawn in place, and now and then a line about the
// job. Called by the command's thread; the context outlives everything here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/cli/context.h"
#include "capture/commands/flow_table.h"
#include "capture/job/output.h"
#include "capture/live/figures.h"
#include "capture/observer/observer.h"

namespace chokepoint::capture {

struct WatchOptions {
  std::string source = {};
  bool is_live = false;
  std::chrono::nanoseconds most_time{0};  // of a live capture; 0: until the user ends it
  SortBy sort = SortBy::Rate;
  std::size_t top = 20;
};

// Waits until the observer or the user ends the capture. True where the user ended it: `interrupt`
// became readable.
bool watch(observer::Observer& observer, const WatchOptions& options, int interrupt,
           const cli::Context& context);

// A line from time to time of how the job is doing, and at once where it is found to stand or goes
// on again, on a line of its own even where the job shares the terminal and has left one
// unfinished.
class LiveNotes {
 public:
  // 0: none but those at once.
  LiveNotes(const cli::Context& context, std::chrono::nanoseconds every);

  // What the job printed since the last call.
  void note_output(const job::OutputPiece& piece);
  void show(const live::Figures& figures, std::int64_t now_ns);

 private:
  void print(const live::Figures& figures);

  const cli::Context& context_;
  std::int64_t every_ns_;
  std::int64_t printed_ns_;
  bool is_line_open_ = false;
  bool stands_ = false;
};

// Exposed for its test. The first `width` letters of a line; the codes for colour take no room.
std::string cut(const std::string& line, std::size_t width);

}  // namespace chokepoint::capture
