// What `run` says on standard error while the job runs: now and then a line of how it is doing, on
// lines of their own even where the job shares the terminal and has left one unfinished. One
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/cli/context.h"
#include "capture/job/job.h"
#include "capture/live/figures.h"

namespace chokepoint::capture {

class LiveNotes {
 public:
  // 0: none. The context outlives it.
  LiveNotes(const cli::Context& context, std::chrono::nanoseconds every);

  // What the job has printed meanwhile.
  void note_output(const job::OutputPiece& piece);
  void say(const live::Figures& figures, std::int64_t now_ns);

 private:
  const cli::Context& context_;
  std::int64_t every_ns_;
  std::int64_t said_ns_;
  bool is_line_open_ = false;
};

}  // namespace chokepoint::capture
