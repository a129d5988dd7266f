// Signals as something to read: while a Signals lives, the given ones no longer interrupt the
// process but wait in its descriptor, beside sockets and pidfds in one poll(). Make it before any
// other thread, so that every thread inherits the mask. Restores the mask when it goes.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <initializer_list>
#include <optional>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/process.h"

namespace chokepoint::sys {

struct Signal {
  int number = 0;
  int code = 0;      // si_code: SI_KERNEL, SI_USER …
  pid_t sender = 0;  // 0: the kernel, or a process outside this PID namespace
  bool operator==(const Signal&) const = default;
};

class Signals {
 public:
  // Without SIGHUP where the process was started to ignore it, as by nohup.
  static Result<Signals> watch(std::initializer_list<int> numbers);
  // By which a user ends what runs: Ctrl-C, kill, and the end of the terminal or of ssh.
  static Result<Signals> watch_for_end() { return watch({SIGINT, SIGTERM, SIGHUP}); }
  Signals(Signals&& other) noexcept;
  Signals& operator=(Signals&&) = delete;
  ~Signals();

  int descriptor() const { return descriptor_.get(); }
  // The next signal that has come; nothing where none has.
  std::optional<Signal> next_with_sender() const;
  std::optional<int> next() const;

 private:
  Signals(Descriptor descriptor, const sigset_t& before)
      : descriptor_(std::move(descriptor)), before_(before) {}

  Descriptor descriptor_;
  sigset_t before_;
};

// While it lives no signal is taken by this thread, nor ever by those that it starts: signals are
// for the threads that handle them.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// For a thread that writes to sockets without MSG_NOSIGNAL, and those that it starts: a peer that
// is gone is an error, not the end of this process.
void hold_broken_pipe();

// All that can be ignored, but for those that report faults of this program.
void ignore_signals();

// Waits for a child and passes every signal that comes on to its process group: Ctrl-C at the
// terminal, SIGTERM from a scheduler.
Result<ExitStatus> supervise(Process& process, const Signals& signals);

}  // namespace chokepoint::sys
