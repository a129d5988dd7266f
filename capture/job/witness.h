// A process that is in a process group only to see which signals the group gets: a child of
// chokepoint, so that a scheduler that searches the processes of a step, a cgroup or a command
// line finds it, too. Signals have no effect on it, except SIGKILL and SIGSTOP. It has no open
// file, folder or terminal, and ends with chokepoint.
//
//   witness ── Saw: signal, time ──▶ chokepoint
//   chokepoint ── Query: number ────▶ witness
//   witness ── Reply: number ───────▶ chokepoint, after all that it saw before
//
// One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/signals.h"
#include "base/sys/worker.h"

namespace chokepoint::capture::job {

// What its process is called.
inline constexpr const char* kWitnessName = "job-signals";

// The signals that chokepoint handles for its job; blocks them.
Result<sys::Signals> watch_job_signals();

class Witness {
 public:
  struct Report {
    sys::Signal signal = {};    // where `replied` is 0
    std::int64_t t_ns = 0;      // when the witness saw it
    std::uint32_t replied = 0;  // the query
  };

  // Forks, so there must be no other thread yet. `group`: of a child of this process; 0: this
  // process's own. `command`: the job's.
  static Result<std::unique_ptr<Witness>> start(pid_t group,
                                                const std::vector<std::string>& command,
                                                const sys::Clock& clock);
  // Ends it, and waits for that; stop() before, to have more than one end meanwhile.
  ~Witness();
  void stop() const;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  pid_t pid() const { return worker_.pid(); }
  // Readable: call receive(). -1 once it has ended.
  int descriptor() const { return worker_.socket().descriptor(); }
  void send_query(std::uint32_t query) const;
  // Nothing where nothing more has come.
  std::optional<Report> receive();
  // Another part of this process waited for it, and its number may be another process's.
  void set_reaped() { is_reaped_ = true; }

 private:
  explicit Witness(sys::Worker worker) : worker_(std::move(worker)) {}

  sys::Worker worker_;
  bool is_reaped_ = false;
};

}  // namespace chokepoint::capture::job
