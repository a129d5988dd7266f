// The controlling terminal, where there is one, and which process group has it: only that one may
// read, and gets Ctrl-C and Ctrl-Z. One thread, with SIGTTOU blocked.
#pragma once

#include <sys/types.h>

#include <utility>

#include "base/sys/descriptor.h"

namespace chokepoint::capture::job {

class Terminal {
 public:
  static Terminal controlling();

  bool exists() const { return static_cast<bool>(descriptor_); }
  int descriptor() const { return descriptor_.get(); }
  // This process's own group has it.
  bool is_ours() const;
  bool is_had_by(pid_t group) const;
  void give(pid_t group) const;
  // Back to this process's group, if that other one has it: a shell that took it keeps it.
  void take_from(pid_t group) const;

 private:
  explicit Terminal(sys::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  sys::Descriptor descriptor_;
};

// Whether somebody else is in this process's group: the other ends of a shell's pipeline, or the
// script it was started from. They may want the terminal, too.
bool is_alone_in_group();

}  // namespace chokepoint::capture::job
