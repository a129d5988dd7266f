// The server as a process: which user it runs as, how systemd learns that it is ready, and how a
// server that ssh, srun or mpirun started on another host ends with its standard input, so that it
// cannot outlive the process that holds the other end. Called from the main thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::serve {

// The key in the first line of `input`. Nothing behind the line is read. `interrupt`: readable once
// the user wants it to end.
Result<std::string> read_key(int input, int interrupt);

// Watches the input on a thread of its own; what still arrives there is read and discarded.
class StdinLifetime {
 public:
  // Also ends by `interrupt`. Both descriptors outlive it. From here on SIGPIPE is ignored, since
  // standard error may have lost its reader, too: writes fail with an error instead.
  static Result<std::unique_ptr<StdinLifetime>> hold(int input, int interrupt);
  StdinLifetime(const StdinLifetime&) = delete;
  StdinLifetime& operator=(const StdinLifetime&) = delete;
  ~StdinLifetime();

  // Readable once the server shall end.
  int over() const { return over_.get(); }

 private:
  StdinLifetime(sys::Descriptor over, sys::Descriptor dropped)
      : over_(std::move(over)), dropped_(std::move(dropped)) {}
  void watch(int input, int interrupt) const;

  sys::Descriptor over_;
  sys::Descriptor dropped_;  // written by the destructor
  std::thread thread_;
};

// Gives up privileges: the process becomes this user with its groups, for good. Does nothing where
// the name is empty. Call it before any thread starts.
Result<> become(const std::string& user);

// Tells systemd that the server answers, see sd_notify(3). `socket` is NOTIFY_SOCKET's value in the
// environment. Failures are ignored.
void notify_ready(const std::optional<std::string>& socket);

}  // namespace chokepoint::probe::serve
