// Around a library that ignores SIGPIPE for the whole process: when it is gone SIGPIPE is what it
// was, so that a job that is started then finds it as it would without us.
#pragma once

#include <signal.h>

namespace chokepoint::capture::live {

class PipeSignalKept {
 public:
  PipeSignalKept() { sigaction(SIGPIPE, nullptr, &before_); }
  ~PipeSignalKept() { sigaction(SIGPIPE, &before_, nullptr); }
  PipeSignalKept(const PipeSignalKept&) = delete;
  PipeSignalKept& operator=(const PipeSignalKept&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace chokepoint::capture::live
