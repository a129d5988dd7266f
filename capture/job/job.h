// The command that is watched: started in a process group of its own, with the terminal, signals,
// exit status and output as it would have them without us.
//
//   terminal ──keys──▶ job's group (foreground)
//   kill, srun ──▶ chokepoint ──same signal──▶ job's group
//   job ──out, err──▶ relay (a process of its own) ──▶ our out, err
//                       └── copy with time, dropped where nobody takes it ──▶ chokepoint
//
// The relay outlives chokepoint: whatever happens to us, the job finds its output open and goes on.
// Where output need not be watched, or cannot be, the job has our own descriptors, and there is no
// relay. Stopped jobs (Ctrl-Z) stop chokepoint, too, and go on with it. One thread. Other threads
// may be there before start() only if they leave all signals to this one; see OutputWatch, too.
//
// The process becomes the parent of whoever loses its own below it, and reaps every child that
// ends: nothing else in it may wait for children while a Job lives.
#pragma once

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
#include "capture/job/output_watch.h"
#include "capture/job/selection.h"

namespace chokepoint::capture::job {

struct Launch {
  std::vector<std::string> command = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // on top of ours
  bool watch_output = true;
};

// What a shell exits with where a command could not be started: 127 it is not there, 126 it cannot
// be run.
int exit_code_of_failed_start(const Error& error);

class Job {
 public:
  // The clock outlives the job, and is read by the relays.
  static Result<std::unique_ptr<Job>> start(const Launch& launch, const sys::Clock& clock);
  // With an output that was prepared before; `launch.watch_output` is not looked at.
  static Result<std::unique_ptr<Job>> start(const Launch& launch, OutputWatch output);
  virtual ~Job() = default;

  virtual pid_t pid() const = 0;
  // Who belongs to it, for the roster.
  virtual Selection selection() const = 0;
  // To poll() for reading; -1 where there is none. handle() when any is readable.
  virtual std::array<int, 3> descriptors() const = 0;
  // Passes signals on, follows stops, hands over output, reaps orphans. Never blocks. The exit
  // status once the command has ended.
  virtual Result<std::optional<sys::ExitStatus>> handle(const OnOutput& on_output) = 0;
  // After the end: waits until what the command printed is out, or a signal asks to stop. Who was
  // left running may print on, and is not waited for.
  virtual void finish(const OnOutput& on_output) = 0;
  // False where it was not asked for, or cannot be had.
  virtual bool watches_output() const = 0;
  // Pieces of output that were not handed over, because nobody took them in time; the job's own
  // output always went through.
  virtual std::uint64_t pieces_missed() const = 0;
};

}  // namespace chokepoint::capture::job
