// The process that passes one output of the job on, seen from chokepoint: it is told what happens
// and tells what passed. It ends by itself, when the job's last process has closed its output;
// until then it goes on, whatever becomes of chokepoint. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/job/output_channel.h"
#include "capture/job/relay_message.h"

namespace chokepoint::capture::job {

class Relay {
 public:
  // Forks, so there must be no other thread yet.
  static Result<Relay> start(OutputChannel& channel, const sys::Clock& clock);

  pid_t pid() const { return pid_; }
  // Readable: call receive(). -1 once the relay is gone.
  int descriptor() const { return socket_.get(); }
  void tell(const Note& note) const;
  // Hands over what is there, but no more than a bounded number of pieces.
  void receive(const OnOutput& on_output);
  // What the command printed is out; or the relay is gone.
  bool is_drained() const { return is_drained_ || !socket_; }
  std::uint64_t missed() const { return missed_; }

 private:
  Relay(pid_t pid, Stream stream, sys::Descriptor socket);
  // False where there is nothing more just now.
  bool receive_one(const OnOutput& on_output);

  pid_t pid_;
  Stream stream_;
  sys::Descriptor socket_;
  std::unique_ptr<char[]> buffer_;
  bool is_drained_ = false;
  std::uint64_t missed_ = 0;
};

}  // namespace chokepoint::capture::job
