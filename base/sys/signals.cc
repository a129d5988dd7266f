#include "base/sys/signals.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>

namespace chokepoint::sys {
Result<Signals> Signals::watch(std::initializer_list<int> numbers) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  for (const int number : numbers) {
    // A signal that is blocked waits, even where it is ignored.
    if (number != SIGHUP || !is_ignored(SIGHUP)) {
      sigaddset(&set, number);
    }
  }
  const int code = pthread_sigmask(SIG_BLOCK, &set, &before);
  if (code != 0) {
    return fail(from_errno(code, "watch signals", "this process"));
  }
  Descriptor descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor) {
    Error error = from_errno(errno, "watch signals", "this process");
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return fail(std::move(error));
  }
  return Signals(std::move(descriptor), before);
}

Signals::Signals(Signals&& other) noexcept
    : descriptor_(std::move(other.descriptor_)), before_(other.before_) {}

Signals::~Signals() {
  if (descriptor_) {
    // What came and was not asked for must not strike once the mask is lifted.
    while (next()) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
}

std::optional<Signal> Signals::next_with_sender() const {
  signalfd_siginfo info{};
  if (read(descriptor_.get(), &info, sizeof(info)) != sizeof(info)) {
    return std::nullopt;
  }
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code, static_cast<pid_t>(info.ssi_pid)};
}

std::optional<int> Signals::next() const {
  const std::optional<Signal> signal = next_with_sender();
  return signal ? std::optional(signal->number) : std::nullopt;
}

void hold_broken_pipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void ignore_signals() {
  for (int number = 1; number < NSIG; ++number) {
    signal(number, SIG_IGN);
  }
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGCHLD}) {
    signal(number, SIG_DFL);
  }
}

Result<ExitStatus> supervise(Process& process, const Signals& signals) {
  std::array<pollfd, 2> watched{pollfd{process.descriptor(), POLLIN, 0},
                                pollfd{signals.descriptor(), POLLIN, 0}};
  while (true) {
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
      return fail(from_errno(errno, "supervise", std::to_string(process.pid())));
    }
    while (const std::optional<int> number = signals.next()) {
      TRY(process.signal(*number));
    }
    TRY(const std::optional<ExitStatus> status, process.poll());
    if (status) {
      return *status;
    }
  }
}

}  // namespace chokepoint::sys
