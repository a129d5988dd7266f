// Another program whose standard output is read: ssh, another chokepoint, Slurm's tools. It may
// hang at any byte, so every wait for it is limited: by a bound on its silence, or an
// interruption. Processes that it started end with it. One thread.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/child_output.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

constexpr const char* kOwnProgram = "/proc/self/exe";

struct SenderDeadline {
  std::chrono::nanoseconds silence = std::chrono::seconds(60);
  int interrupt = -1;  // readable: the wait is over
};

class Sender {
 public:
  static Result<Sender> start(std::vector<std::string> command, const SenderDeadline& deadline);
  Sender(Sender&&) noexcept = default;
  Sender& operator=(Sender&&) = delete;
  // Kills it where it has not ended.
  ~Sender();

  // 0: it has written all.
  Result<std::size_t> read(std::span<char> into);
  // What it printed on standard error, on one line. It has ended then, or is killed where it does
  // not.
  std::string message();
  // After message().
  bool has_failed() const { return has_failed_; }

 private:
  Sender(sys::ChildOutput child, const SenderDeadline& deadline)
      : child_(std::move(child)), deadline_(deadline) {}

  using Moment = std::chrono::steady_clock::time_point;
  // Until one of the program's descriptors is readable.
  Result<> wait(std::span<pollfd> watched, Moment until) const;
  void end();

  sys::ChildOutput child_;
  SenderDeadline deadline_;
  std::string message_;
  bool has_failed_ = false;
  bool has_ended_ = false;
};

}  // namespace chokepoint::analysis
