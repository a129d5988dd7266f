// A server that somebody started on another host for a while, by ssh, srun or mpirun: tied to its
// standard input, so that it cannot outlive whoever holds the other end, however that one goes.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::serve {

// The first line of `input`: a key. Nothing behind it is read. `interrupt`: readable once the user
// wants it to end.
Result<std::string> read_leash(int input, int interrupt);

// Watches the input on a thread of its own; what still comes there is read and thrown away.
class StdinLifetime {
 public:
  // Also ends by `interrupt`. Both descriptors outlive it. From here on a write to whoever has gone
  // is an error, no signal: they may have been standard error's reader, too.
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
  sys::Descriptor dropped_;  // written when this goes
  std::thread thread_;
};

}  // namespace chokepoint::probe::serve
