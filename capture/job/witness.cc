#include "capture/job/witness.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>

#include "base/sys/message_socket.h"
#include "base/sys/root.h"
#include "capture/job/process.h"

namespace chokepoint::capture::job {
namespace {

// `pkill -f train.py` finds chokepoint and the job by the job's words, so it must find the witness;
// `pkill -f chokepoint` finds chokepoint alone, so it must not.
void take_name(const std::vector<std::string>& command) {
  prctl(PR_SET_NAME, kWitnessName);
  const std::optional<StatLine> own = read_stat(sys::Root(), getpid());
  if (!own || own->arguments == 0 || own->arguments_end <= own->arguments) {
    return;
  }
  std::string words = std::string(kWitnessName) + ":";
  for (const std::string& word : command) {
    words += " " + word;
  }
  const std::size_t room = own->arguments_end - own->arguments;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells the place as a number.
  const std::span arguments(reinterpret_cast<char*>(own->arguments), room);
  std::ranges::fill(arguments, '\0');
  std::ranges::copy(std::string_view(words).substr(0, room - 1), arguments.begin());
}

// The witness's own side. Waits for room rather than lose a report.
class WitnessProcess {
 public:
  WitnessProcess(int socket, const sys::Signals& signals, const sys::Clock& clock)
      : socket_(socket), signals_(signals), clock_(clock) {}

  // Until chokepoint has closed its end.
  void run() {
    while (is_asked_for_) {
      std::array<pollfd, 2> watched{pollfd{signals_.descriptor(), POLLIN, 0},
                                    pollfd{socket_, POLLIN, 0}};
      if (poll(watched.data(), watched.size(), -1) < 0) {
        continue;
      }
      const std::optional<std::uint32_t> question =
          watched[1].revents != 0 ? next_question() : std::nullopt;
      report_signals();
      if (question) {
        send({.answered = *question});
      }
    }
  }

 private:
  std::optional<std::uint32_t> next_question() {
    std::uint32_t question = 0;
    const ssize_t got = recv(socket_, &question, sizeof(question), MSG_DONTWAIT);
    is_asked_for_ = got == sizeof(question) || (got < 0 && (errno == EAGAIN || errno == EINTR));
    return got == sizeof(question) ? std::optional(question) : std::nullopt;
  }

  void report_signals() {
    while (const std::optional<sys::Signal> signal = signals_.next_with_sender()) {
      send({.signal = *signal, .t_ns = clock_.monotonic_ns()});
    }
  }

  void send(const Witness::Report& report) {
    while (::send(socket_, &report, sizeof(report), MSG_NOSIGNAL) < 0) {
      pollfd room{socket_, POLLOUT, 0};
      if (errno != EINTR && (errno != EAGAIN || poll(&room, 1, -1) < 0)) {
        is_asked_for_ = false;
        return;
      }
    }
  }

  int socket_;
  const sys::Signals& signals_;
  const sys::Clock& clock_;
  bool is_asked_for_ = true;
};

// In a process just forked, with all signals blocked.
[[noreturn]] void become_witness(int socket, const std::vector<std::string>& command,
                                 const sys::Clock& clock) noexcept {
  take_name(command);
  const int kept = sys::keep_only(socket);
  [[maybe_unused]] const int left = chdir("/");
  // Blocked signals wait to be read although they are ignored; others would pile up.
  const Result<sys::Signals> signals = watch_job_signals();
  sys::ignore_signals();
  if (signals) {
    WitnessProcess(kept, *signals, clock).run();
  }
  _exit(0);
}

void end_child(pid_t pid) {
  // A sandbox may refuse the signal: the witness ends with its socket then.
  if (kill(pid, SIGKILL) == 0) {
    // At once: the witness touches no disk.
    waitpid(pid, nullptr, 0);
  }
}

}  // namespace

// Those to pass on, and those that report children and requests for the terminal.
Result<sys::Signals> watch_job_signals() {
  return sys::Signals::watch({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
                              SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPWR, SIGXCPU, SIGCHLD});
}

Result<std::unique_ptr<Witness>> Witness::start(pid_t group,
                                                const std::vector<std::string>& command,
                                                const sys::Clock& clock) {
  TRY(sys::MessageSockets sockets, sys::open_message_sockets("watch signals"));
  const sys::SignalsHeld held;
  const pid_t pid = fork();
  if (pid < 0) {
    return fail(from_errno(errno, "watch signals", "fork"));
  }
  if (pid == 0) {
    become_witness(sockets.other.get(), command, clock);
  }
  if (group != 0 && setpgid(pid, group) != 0) {
    const int code = errno;
    end_child(pid);
    return fail(from_errno(code, "watch signals", "the job's process group"));
  }
  return std::unique_ptr<Witness>(new Witness(pid, std::move(sockets.own)));
}

void Witness::stop() const {
  if (!is_reaped_) {
    kill(pid_, SIGKILL);
  }
}

Witness::~Witness() {
  if (!is_reaped_) {
    end_child(pid_);
  }
}

void Witness::ask(std::uint32_t question) const {
  if (socket_) {
    ::send(socket_.get(), &question, sizeof(question), MSG_NOSIGNAL);
  }
}

std::optional<Witness::Report> Witness::receive() {
  Report report;
  ssize_t got = -1;
  do {
    got = recv(socket_.get(), &report, sizeof(report), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof(report)) {
    return report;
  }
  if (got >= 0 || errno != EAGAIN) {
    socket_.reset();
  }
  return std::nullopt;
}

}  // namespace chokepoint::capture::job
