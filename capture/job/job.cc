#include "capture/job/job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <string_view>

#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "capture/job/signal_delivery.h"
#include "capture/job/witness.h"

namespace chokepoint::capture::job {
namespace {

// The controlling terminal, if there is one, and which process group has it: only that group may
// read and gets Ctrl-C and Ctrl-Z. One thread, with SIGTTOU blocked.
class Terminal {
 public:
  static Terminal controlling() {
    return Terminal(sys::Descriptor(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)));
  }

  bool exists() const { return static_cast<bool>(descriptor_); }
  int descriptor() const { return descriptor_.get(); }
  // This process's own group has it.
  bool is_ours() const { return is_had_by(getpgrp()); }

  bool is_had_by(pid_t group) const { return exists() && tcgetpgrp(descriptor_.get()) == group; }

  void give(pid_t group) const {
    if (exists()) {
      tcsetpgrp(descriptor_.get(), group);
    }
  }

  // Back to this process's group if `group` has it: a shell that took it keeps it.
  void take_from(pid_t group) const {
    if (is_had_by(group)) {
      tcsetpgrp(descriptor_.get(), getpgrp());
    }
  }

 private:
  explicit Terminal(sys::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  sys::Descriptor descriptor_;
};

// False if other processes are in this process's group: of the same shell pipeline, or the script
// that started it. They may need the terminal, too.
bool is_alone_in_group() {
  const sys::Root root;
  const pid_t own = getpid();
  return std::ranges::none_of(pids_below(root, "/proc"), [&](pid_t pid) {
    const std::optional<StatLine> stat = read_stat(root, pid);
    return stat && pid != own && stat->group == getpgrp();
  });
}

sys::ExitStatus status_of(const siginfo_t& child) {
  if (child.si_code == CLD_EXITED) {
    return {child.si_status, 0};
  }
  return {kSignalBase + child.si_status, child.si_status};
}

bool requests_terminal(int number) { return number == SIGTTIN || number == SIGTTOU; }

bool requests_end(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

bool is_pending(int number) {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}

// If SIGSTOP came from outside and no shell sees us stop, no process would continue us.
int stop_signal_for(int number) { return number == SIGSTOP ? SIGTSTP : number; }

// The job has the terminal at the start if no other process is in our group; later the terminal
// goes to the process that was stopped because it read without having it.
class LiveJob final : public Job {
 public:
  LiveJob(pid_t pid, const Launch& launch, const sys::Clock& clock, sys::Signals signals,
          Terminal terminal, bool has_terminal, std::vector<Relay> relays)
      : pid_(pid),
        signals_(std::move(signals)),
        delivery_(pid, launch.command, clock),
        terminal_(std::move(terminal)),
        has_terminal_claim_(has_terminal),
        relays_(std::move(relays)) {
    notify_relays(Note::Started, pid_);
  }

  ~LiveJob() override { terminal_.take_from(pid_); }

  pid_t pid() const override { return pid_; }

  Selection selection() const override {
    Selection selection{.pid = pid_, .adopter = getpid(), .not_the_jobs = delivery_.witnesses()};
    for (const Relay& relay : relays_) {
      selection.not_the_jobs.push_back(relay.pid());
    }
    return selection;
  }

  Descriptors descriptors() const override {
    Descriptors list;
    list.fill(-1);
    list[0] = signals_.descriptor();
    auto end = std::ranges::copy(delivery_.descriptors(), list.begin() + 1).out;
    for (std::size_t i = 0; i < relays_.size() && end != list.end(); ++i) {
      *end++ = relays_[i].descriptor();
    }
    return list;
  }

  Result<std::optional<sys::ExitStatus>> handle(const OnOutput& on_output) override {
    for (Relay& relay : relays_) {
      relay.receive(on_output);
    }
    has_passed_on_stop_ = false;
    take_signals();
    delivery_.advance();
    reap();
    return status_;
  }

  void finish(const OnOutput& on_output) override {
    while (!is_drained()) {
      std::array<pollfd, kMaxDescriptors> watched{};
      std::ranges::transform(descriptors(), watched.begin(),
                             [](int fd) { return pollfd{fd, POLLIN, 0}; });
      poll(watched.data(), watched.size(), -1);
      for (Relay& relay : relays_) {
        relay.receive(on_output);
      }
      while (const std::optional<int> number = signals_.next()) {
        if (requests_end(*number)) {
          return;
        }
        if (*number == SIGTSTP) {
          stop_self(SIGTSTP, false);
        }
      }
      reap();
    }
  }

  std::uint64_t pieces_missed() const override {
    return std::accumulate(relays_.begin(), relays_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Relay& one) { return sum + one.missed(); });
  }

 private:
  void take_signals() {
    while (const std::optional<sys::Signal> signal = signals_.next_with_sender()) {
      pass_on(*signal);
    }
  }

  void pass_on(const sys::Signal& signal) {
    if (signal.number == SIGCHLD) {
      return;
    }
    if (requests_terminal(signal.number)) {
      on_background_request(signal.number);
    } else if (signal.number == SIGCONT) {
      on_continued();
    } else if (signal.number == SIGTSTP) {
      has_passed_on_stop_ = true;
      kill(-pid_, SIGTSTP);
    } else {
      if (signal.number == SIGWINCH) {
        notify_relays(Note::Resized);
      }
      delivery_.pass_on(signal);
    }
  }

  void reap() {
    siginfo_t child{};
    while (waitid(P_ALL, 0, &child, WEXITED | WSTOPPED | WNOHANG) == 0 && child.si_pid != 0) {
      if (child.si_pid == pid_ && !status_ && child.si_code == CLD_STOPPED) {
        on_stopped(child.si_status);
      } else if (child.si_pid == pid_ && !status_) {
        on_ended(status_of(child));
      } else if (child.si_code != CLD_STOPPED) {
        delivery_.note_reaped(child.si_pid);
        on_relay_ended(child);
      }
      child = {};
    }
  }

  // Or another child, which is no relay.
  void on_relay_ended(const siginfo_t& child) {
    const auto relay = std::ranges::find(relays_, child.si_pid, &Relay::pid);
    if (relay == relays_.end()) {
      return;
    }
    if (child.si_code == CLD_EXITED && child.si_status == 0) {
      relay->retire();
    } else if (relay->replace()) {
      relay->send(Note::Started, pid_);
      if (status_) {
        relay->send(Note::Ended);
      }
    }
  }

  // A process in our own group, such as a pager in the same pipeline, was stopped because it does
  // not have the terminal.
  void on_background_request(int number) {
    if (!terminal_.is_had_by(pid_)) {
      stop_self(number, false);
      return;
    }
    has_terminal_claim_ = false;
    terminal_.take_from(pid_);
    kill(0, SIGCONT);
  }

  void on_stopped(int number) {
    if (requests_terminal(number)) {
      has_terminal_claim_ = true;
      // A shell may give us the terminal after the job had it. If Ctrl-Z came meanwhile, continuing
      // the job would lose that Ctrl-Z, which is pending behind the job's request.
      if (terminal_.is_ours() && !has_passed_on_stop_) {
        on_continued();
        return;
      }
    }
    if (!terminal_.exists()) {
      return;
    }
    const bool had_terminal = terminal_.is_had_by(pid_);
    terminal_.take_from(pid_);
    stop_self(stop_signal_for(number), had_terminal && number == SIGTSTP);
    if (!is_pending(SIGCONT) && number != SIGSTOP) {
      // In an orphaned process group the kernel ignores the stop; it would not have stopped the job
      // in our place either.
      on_continued();
    }
  }

  void on_continued() {
    if (has_terminal_claim_) {
      lend_terminal();
    }
    kill(-pid_, SIGCONT);
  }

  void on_ended(const sys::ExitStatus& status) {
    status_ = status;
    delivery_.end();
    terminal_.take_from(pid_);
    notify_relays(Note::Ended);
  }

  void lend_terminal() {
    if (terminal_.is_ours()) {
      terminal_.give(pid_);
    }
  }

  // The stop takes effect before pthread_sigmask() returns, and lasts until SIGCONT.
  void stop_self(int number, bool whole_group) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    kill(whole_group ? 0 : getpid(), number);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }

  void notify_relays(Note note, pid_t job = 0) const {
    for (const Relay& relay : relays_) {
      relay.send(note, job);
    }
  }

  bool is_drained() const { return std::ranges::all_of(relays_, &Relay::is_drained); }

  pid_t pid_;
  sys::Signals signals_;
  SignalDelivery delivery_;
  Terminal terminal_;
  bool has_passed_on_stop_ = false;  // since handle() was called
  bool has_terminal_claim_;          // the job had it, or requested it
  std::vector<Relay> relays_;
  std::optional<sys::ExitStatus> status_ = {};
};

constexpr int kNotFoundExitCode = 127;  // as POSIX shells do
constexpr int kNotExecutableExitCode = 126;

sigset_t blocked_now() {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

sys::Spawn spawn_for(const Launch& launch, const sigset_t& blocked) {
  return {.command = launch.command,
          .environment = launch.environment,
          .keep_ignored = true,
          .blocked = blocked};
}

// A script without a "#!" line is run by the shell.
Result<sys::Process> start_as_shells_do(sys::Spawn& spawn) {
  Result<sys::Process> process = sys::Process::start(spawn);
  if (process || process.error().code != ENOEXEC ||
      spawn.command[0].find('/') == std::string::npos) {
    return process;
  }
  spawn.command.insert(spawn.command.begin(), "/bin/sh");
  return sys::Process::start(spawn);
}

// The child had taken the terminal before exec() failed.
void undo(const Terminal& terminal, bool gave_terminal, OutputWatch& output) {
  if (gave_terminal) {
    terminal.give(getpgrp());
  }
  for (const Relay& relay : output.release()) {
    waitpid(relay.pid(), nullptr, 0);
  }
}

}  // namespace

int exit_code_of_failed_start(const Error& error) {
  return error.kind == ErrorKind::NotFound ? kNotFoundExitCode : kNotExecutableExitCode;
}

Result<std::unique_ptr<Job>> Job::start(const Launch& launch, OutputWatch output,
                                        const sys::Clock& clock) {
  sys::Spawn spawn = spawn_for(launch, blocked_now());
  sys::notice_children();
  TRY(sys::Signals signals, watch_job_signals());
  TRY(sys::adopt_orphans());
  Terminal terminal = Terminal::controlling();
  const bool gets_terminal = terminal.is_ours() && is_alone_in_group();
  spawn.terminal = gets_terminal ? terminal.descriptor() : -1;
  output.connect(spawn);
  const Result<sys::Process> process = start_as_shells_do(spawn);
  if (!process) {
    undo(terminal, gets_terminal, output);
    return std::unexpected(process.error());
  }
  std::vector<Relay> relays = output.release();
  return std::make_unique<LiveJob>(process->pid(), launch, clock, std::move(signals),
                                   std::move(terminal), gets_terminal, std::move(relays));
}

}  // namespace chokepoint::capture::job
