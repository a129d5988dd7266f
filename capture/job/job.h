// The watched command: started in a process group of its own, with the terminal, signals, exit
// status and output that it would have if it were started directly.
//
//   terminal ──keys──▶ job's group (foreground)
//   kill, srun ──▶ chokepoint ──same signal──▶ job, unless it got it from there itself
//   job ──out, err──▶ relay (a process of its own) ──▶ our out, err
//                       └── copy with time, dropped if the queue is full ──▶ chokepoint
//
// The relay outlives chokepoint: if chokepoint ends, the job's output stays open and the job
// continues. If the output need not or cannot be watched, the job has chokepoint's own
// descriptors, and there is no relay. A stopped job (Ctrl-Z) stops chokepoint, too, and both
// continue together. One thread. Other threads may exist before start() only if they block all
// signals; see OutputWatch, too.
//
// This process becomes the parent of the orphans below it, and reaps every child that ends: nothing
// else in it may wait for children while a Job lives.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/process.h"
#include "capture/job/output.h"
#include "capture/job/process.h"

namespace chokepoint::capture::job {

struct Launch {
  std::vector<std::string> command = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // on top of ours
};

// A shell's exit code for a command that could not be started: 127 not found, 126 not executable.
int exit_code_of_failed_start(const Error& error);

class Job {
 public:
  static constexpr std::size_t kMaxDescriptors = 6;

  // `output` was opened before; one by default is not watched. The clock is CLOCK_MONOTONIC, and
  // outlives the job.
  static Result<std::unique_ptr<Job>> start(const Launch& launch, OutputWatch output,
                                            const sys::Clock& clock);
  virtual ~Job() = default;

  virtual pid_t pid() const = 0;
  // Which processes belong to it, for the roster.
  virtual Selection selection() const = 0;
  // To poll() for reading; -1: none. Call handle() when any is readable.
  using Descriptors = std::array<int, kMaxDescriptors>;
  virtual Descriptors descriptors() const = 0;
  // Passes signals on, follows stops, hands over output, reaps orphans. Never blocks. Returns the
  // exit status once the command has ended.
  virtual Result<std::optional<sys::ExitStatus>> handle(const OnOutput& on_output) = 0;
  // After the end: waits until everything that the command printed is written, or a signal requests
  // to stop. Processes that it left running are not waited for.
  virtual void finish(const OnOutput& on_output) = 0;
  // Pieces of output that were not handed over because handle() was called too late; the job's own
  // output is complete.
  virtual std::uint64_t pieces_missed() const = 0;
};

}  // namespace chokepoint::capture::job
