#include "capture/job/relay_process.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "capture/job/output_channel.h"
#include "capture/job/relay_message.h"

namespace chokepoint::capture::job {
namespace {

constexpr const char* kName = "chokepoint-out";
// More than a pipe or a terminal holds: who printed that much printed it after the end.
constexpr std::size_t kMostUnderWay = 1 << 20;
// Whoever has the terminal gets SIGWINCH; that is seldom the relay.
constexpr int kSizeIntervalMs = 250;
constexpr int kRetryIntervalMs = 20;

bool is_pipe(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

// Others may write to the same pipe: what is short enough goes in whole, as the job wrote it.
std::size_t whole_lines(std::string_view bytes) {
  if (bytes.size() <= PIPE_BUF) {
    return bytes.size();
  }
  const std::size_t line_end = bytes.rfind('\n', PIPE_BUF - 1);
  return line_end == std::string_view::npos ? PIPE_BUF : line_end + 1;
}

class RelayProcess {
 public:
  RelayProcess(const RelayEnds& ends, const sys::Clock& clock)
      : ends_(ends), clock_(clock), in_portions_(is_pipe(ends.to)) {}

  void run() {
    while (!is_over_) {
      turn();
    }
  }

 private:
  void turn() {
    // Of the output only errors are asked: a pipe without readers.
    std::array<pollfd, 3> watched{pollfd{ends_.from, POLLIN, 0}, pollfd{ends_.to, 0, 0},
                                  pollfd{ends_.control, POLLIN, 0}};
    if (poll(watched.data(), watched.size(), patience_ms()) < 0) {
      return;
    }
    follow_size();
    if ((watched[2].revents) != 0) {
      listen();
    }
    if ((watched[1].revents & POLLERR) != 0) {
      is_over_ = true;
    } else if (watched[0].revents != 0) {
      pass_on();
    } else {
      owed_ = 0;
    }
    report_drained();
  }

  int patience_ms() const {
    if (has_ended_ && !is_told_) {
      return owed_ == 0 ? kRetryIntervalMs : 0;
    }
    return ends_.is_terminal ? kSizeIntervalMs : -1;
  }

  void pass_on() {
    const ssize_t got = read(ends_.from, buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      return;
    }
    // A terminal says by an error that the last one has closed it.
    if (got <= 0) {
      is_over_ = true;
      return;
    }
    const std::int64_t now = clock_.monotonic_ns();
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
    write_all(bytes);
    send_copy(bytes, now);
    owed_ -= std::min(owed_, bytes.size());
  }

  void write_all(std::string_view bytes) {
    while (!bytes.empty() && !is_over_) {
      const std::size_t portion = in_portions_ ? whole_lines(bytes) : bytes.size();
      const ssize_t put = write(ends_.to, bytes.data(), portion);
      if (put >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(put));
      } else if (errno == EAGAIN) {
        pollfd room{ends_.to, POLLOUT, 0};
        poll(&room, 1, -1);
      } else if (errno != EINTR) {
        // A full disk loses what the job printed, as it would have without us.
        is_over_ = errno == EPIPE || errno == EIO || errno == ECONNRESET;
        return;
      }
    }
  }

  void send_copy(std::string_view bytes, std::int64_t now) {
    if (ends_.control < 0) {
      return;
    }
    Header header{.kind = HeaderKind::Piece, .t_ns = now, .missed = missed_};
    if (!send_message(header, bytes)) {
      ++missed_;
    }
  }

  bool send_message(Header& header, std::string_view bytes) const {
    std::array<iovec, 2> parts{iovec{&header, sizeof(header)},
                               iovec{const_cast<char*>(bytes.data()), bytes.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    return sendmsg(ends_.control, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  }

  void listen() {
    Note note;
    const ssize_t got = recv(ends_.control, &note, sizeof(note), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (got != sizeof(note)) {
      close(ends_.control);
      ends_.control = -1;  // poll() passes over it
      has_ended_ = false;
      return;
    }
    if (note.kind == NoteKind::Started) {
      job_ = note.pid;
    } else if (note.kind == NoteKind::Ended) {
      has_ended_ = true;
      owed_ = kMostUnderWay;
    }
  }

  void report_drained() {
    if (has_ended_ && !is_told_ && owed_ == 0) {
      Header header{.kind = HeaderKind::Drained, .missed = missed_};
      is_told_ = send_message(header, {});
    }
  }

  // The job was told of the new size before its own terminal had it.
  void follow_size() const {
    if (ends_.is_terminal && copy_size(ends_.to, ends_.from) && job_ > 0 && !has_ended_) {
      kill(-job_, SIGWINCH);
    }
  }

  RelayEnds ends_;
  const sys::Clock& clock_;
  bool in_portions_;
  pid_t job_ = 0;
  bool is_over_ = false;
  bool has_ended_ = false;  // the command
  bool is_told_ = false;
  std::size_t owed_ = 0;  // bytes at most that it printed and that are not out
  std::uint64_t missed_ = 0;
  std::array<char, kLargestPiece> buffer_ = {};
};

void ignore_signals() {
  for (int number = 1; number < NSIG; ++number) {
    signal(number, SIG_IGN);
  }
  // What the program's own faults raise must end it.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGCHLD}) {
    signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Whatever chokepoint has open, or its caller has, is closed when those close it.
RelayEnds keep_only(RelayEnds ends) {
  constexpr int kFrom = 3;
  constexpr int kTo = 4;
  constexpr int kControl = 5;
  constexpr int kClear = 16;
  const int from = fcntl(ends.from, F_DUPFD, kClear);
  const int to = fcntl(ends.to, F_DUPFD, kClear);
  const int control = fcntl(ends.control, F_DUPFD, kClear);
  dup2(from, kFrom);
  dup2(to, kTo);
  dup2(control, kControl);
  closefrom(kControl + 1);
  const int nothing = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    dup2(nothing, stream);
  }
  if (nothing > STDERR_FILENO) {
    close(nothing);
  }
  return {.from = kFrom, .to = kTo, .control = kControl, .is_terminal = ends.is_terminal};
}

}  // namespace

void become_relay(const RelayEnds& ends, const sys::Clock& clock) {
  ignore_signals();
  setsid();
  [[maybe_unused]] const int left = chdir("/");
  const RelayEnds kept = keep_only(ends);
  prctl(PR_SET_NAME, kName);
  RelayProcess(kept, clock).run();
  _exit(0);
}

}  // namespace chokepoint::capture::job
