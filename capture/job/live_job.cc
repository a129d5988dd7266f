#include "capture/job/live_job.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "capture/job/process.h"

namespace chokepoint::capture::job {
namespace {

sys::ExitStatus status_of(const siginfo_t& child) {
  if (child.si_code == CLD_EXITED) {
    return {child.si_status, 0};
  }
  return {kSignalBase + child.si_status, child.si_status};
}

bool asks_for_terminal(int number) { return number == SIGTTIN || number == SIGTTOU; }

bool asks_to_end(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

bool is_pending(int number) {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}

// Where SIGSTOP came from outside and no shell would see us stop, nobody would continue us.
int stop_signal_for(int number) { return number == SIGSTOP ? SIGTSTP : number; }

}  // namespace

LiveJob::LiveJob(pid_t pid, sys::Signals signals, Terminal terminal, bool has_terminal,
                 std::vector<Relay> relays)
    : pid_(pid),
      signals_(std::move(signals)),
      terminal_(std::move(terminal)),
      wants_terminal_(has_terminal),
      is_watching_(!relays.empty()),
      relays_(std::move(relays)) {
  tell_relays({NoteKind::Started, pid_});
}

LiveJob::~LiveJob() { terminal_.take_from(pid_); }

Selection LiveJob::selection() const {
  Selection selection{.pid = pid_, .adopter = getpid()};
  for (const Relay& relay : relays_) {
    selection.not_the_jobs.push_back(relay.pid());
  }
  return selection;
}

std::array<int, 3> LiveJob::descriptors() const {
  std::array<int, 3> list{signals_.descriptor(), -1, -1};
  for (std::size_t i = 0; i < relays_.size() && i + 1 < list.size(); ++i) {
    list[i + 1] = relays_[i].descriptor();
  }
  return list;
}

Result<std::optional<sys::ExitStatus>> LiveJob::handle(const OnOutput& on_output) {
  for (Relay& relay : relays_) {
    relay.receive(on_output);
  }
  has_passed_on_stop_ = false;
  take_signals();
  reap();
  return status_;
}

void LiveJob::take_signals() {
  while (const std::optional<int> number = signals_.next()) {
    pass_on(*number);
  }
}

void LiveJob::pass_on(int number) {
  if (number == SIGCHLD) {
    return;
  }
  if (asks_for_terminal(number)) {
    on_asked_from_behind(number);
  } else if (number == SIGWINCH && is_watching_) {
    tell_relays({NoteKind::Resized, 0});
    kill(-pid_, number);
  } else if (number == SIGCONT) {
    on_continued();
  } else {
    has_passed_on_stop_ = has_passed_on_stop_ || number == SIGTSTP;
    kill(-pid_, number);
  }
}

// Somebody in our own group, such as a pager behind us, was stopped because it has no terminal.
void LiveJob::on_asked_from_behind(int number) {
  if (!terminal_.is_had_by(pid_)) {
    stop_self(number, false);
    return;
  }
  wants_terminal_ = false;
  terminal_.take_from(pid_);
  kill(0, SIGCONT);
}

void LiveJob::reap() {
  siginfo_t child{};
  while (waitid(P_ALL, 0, &child, WEXITED | WSTOPPED | WNOHANG) == 0 && child.si_pid != 0) {
    if (child.si_pid == pid_ && child.si_code == CLD_STOPPED) {
      on_stopped(child.si_status);
    } else if (child.si_pid == pid_) {
      on_ended(status_of(child));
    }
    child = {};
  }
}

void LiveJob::on_ended(const sys::ExitStatus& status) {
  status_ = status;
  terminal_.take_from(pid_);
  tell_relays({NoteKind::Ended, 0});
}

void LiveJob::lend_terminal() {
  if (terminal_.is_ours()) {
    terminal_.give(pid_);
  }
}

void LiveJob::on_stopped(int number) {
  if (asks_for_terminal(number)) {
    wants_terminal_ = true;
    // A shell may hand us the terminal after the job had it. Where Ctrl-Z came to us meanwhile, it
    // waits behind the job's asking, and to continue the job would be to forget it.
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
    // Nobody is there to continue us, so the kernel did not stop us; nor would it have stopped the
    // job in our place.
    on_continued();
  }
}

void LiveJob::on_continued() {
  if (wants_terminal_) {
    lend_terminal();
  }
  kill(-pid_, SIGCONT);
}

// The stop takes hold before pthread_sigmask() returns, and lasts until SIGCONT comes.
void LiveJob::stop_self(int number, bool whole_group) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  kill(whole_group ? 0 : getpid(), number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void LiveJob::tell_relays(const Note& note) const {
  for (const Relay& relay : relays_) {
    relay.tell(note);
  }
}

bool LiveJob::is_drained() const { return std::ranges::all_of(relays_, &Relay::is_drained); }

void LiveJob::finish(const OnOutput& on_output) {
  while (!is_drained()) {
    std::array<pollfd, 3> watched{};
    std::ranges::transform(descriptors(), watched.begin(),
                           [](int fd) { return pollfd{fd, POLLIN, 0}; });
    poll(watched.data(), watched.size(), -1);
    for (Relay& relay : relays_) {
      relay.receive(on_output);
    }
    while (const std::optional<int> number = signals_.next()) {
      if (asks_to_end(*number)) {
        return;
      }
      if (*number == SIGTSTP) {
        stop_self(SIGTSTP, false);
      }
    }
  }
}

std::uint64_t LiveJob::pieces_missed() const {
  return std::accumulate(relays_.begin(), relays_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Relay& one) { return sum + one.missed(); });
}

}  // namespace chokepoint::capture::job
