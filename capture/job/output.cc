#include "capture/job/output.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/signals.h"

namespace chokepoint::capture::job {
namespace {

constexpr int kMinDescriptor = 3;

// Moves it above the standard streams, some of which may be closed. On failure, or if `fd` is that
// of a failed call, none, with errno as the failed call left it.
sys::Descriptor above_streams(int fd) {
  const sys::Descriptor given(fd);
  if (!given) {
    return {};
  }
  return sys::Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, kMinDescriptor));
}

// False for a file of our own that has the number of a closed stream.
bool is_inherited(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

bool are_same_file(int one, int other) {
  struct stat a{};
  struct stat b{};
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// Gives the terminal at `to` the size of the one at `from`; returns whether it had another one.
bool copy_size(int from, int to) {
  winsize wanted{};
  winsize current{};
  if (ioctl(from, TIOCGWINSZ, &wanted) != 0 || ioctl(to, TIOCGWINSZ, &current) != 0) {
    return false;
  }
  if (wanted.ws_row == current.ws_row && wanted.ws_col == current.ws_col) {
    return false;
  }
  return ioctl(to, TIOCSWINSZ, &wanted) == 0;
}

Result<> join_by_pipe(OutputChannel& channel) {
  TRY(sys::Pipe pipe, sys::open_pipe("watch output", "pipe"));
  channel.relay_end = above_streams(pipe.read.release());
  channel.job_end = above_streams(pipe.write.release());
  if (!channel.relay_end || !channel.job_end) {
    return fail(from_errno(errno, "watch output", "pipe"));
  }
  return {};
}

void make_raw(int terminal) {
  termios modes{};
  if (tcgetattr(terminal, &modes) == 0) {
    cfmakeraw(&modes);
    tcsetattr(terminal, TCSANOW, &modes);
  }
}

Result<> join_by_terminal(OutputChannel& channel) {
  channel.relay_end = above_streams(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  const int own = channel.relay_end.get();
  if (own < 0 || grantpt(own) != 0 || unlockpt(own) != 0) {
    return fail(from_errno(errno, "watch output", "pseudo-terminal"));
  }
  // Not by its name: /dev/pts may belong to another mount of devpts here.
  channel.job_end = above_streams(ioctl(own, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!channel.job_end) {
    return fail(from_errno(errno, "watch output", "pseudo-terminal"));
  }
  make_raw(channel.job_end.get());
  copy_size(channel.destination, own);
  return {};
}

Result<OutputChannel> open_channel(Stream stream, int destination) {
  OutputChannel channel{.stream = stream, .destination = destination};
  channel.is_terminal = isatty(destination) == 1;
  TRY(channel.is_terminal ? join_by_terminal(channel) : join_by_pipe(channel));
  return channel;
}

// One for each of our outputs that the job would inherit; none for one that is closed.
Result<std::vector<OutputChannel>> open_output_channels() {
  std::vector<OutputChannel> channels;
  const bool shared = is_inherited(STDOUT_FILENO) && is_inherited(STDERR_FILENO) &&
                      are_same_file(STDOUT_FILENO, STDERR_FILENO);
  for (const auto& [stream, fd] :
       {std::pair(Stream::Out, STDOUT_FILENO), std::pair(Stream::Err, STDERR_FILENO)}) {
    if (!is_inherited(fd) || (shared && stream == Stream::Err)) {
      continue;
    }
    TRY(OutputChannel channel, open_channel(stream, fd));
    channel.is_shared = shared;
    channels.push_back(std::move(channel));
  }
  return channels;
}

// Messages between a relay and chokepoint, over a pair of SOCK_SEQPACKET sockets:
//
//   chokepoint ── Note: Started, pid of the job ──▶ relay     before the first output
//   chokepoint ── Note: Resized ──────────────────▶ relay     the terminal's size has changed
//   relay ── Header: Piece, bytes ────────────────▶ chokepoint, for each piece
//   chokepoint ── Note: Ended ────────────────────▶ relay     the command has ended
//   relay ── Header: Drained ─────────────────────▶ chokepoint: all that it printed is written
//
// Either may close its end at any time. The relay drops a piece if there is no room for it.
enum class HeaderKind : std::int32_t { Piece, Drained };

struct Header {
  HeaderKind kind = HeaderKind::Piece;
  std::int32_t unused = 0;
  std::int64_t t_ns = 0;
  std::uint64_t missed = 0;  // pieces dropped so far
};

constexpr std::size_t kMaxPieceBytes = 65536;

struct RelayEnds {
  int from = -1;             // what the job prints
  int to = -1;               // our own output
  int control = -1;          // chokepoint
  bool is_terminal = false;  // `from` is a pseudo-terminal that follows the size of `to`
};

// More than a pipe or a terminal holds: whatever exceeds it was printed after the command's end.
constexpr std::size_t kMaxUnreadBytes = 1 << 20;
// The terminal's foreground group gets SIGWINCH; the relay is seldom in it, so it polls the size.
constexpr int kSizeIntervalMs = 250;
constexpr int kRetryIntervalMs = 20;

mode_t kind_of(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

// Other processes may write to the same pipe: up to PIPE_BUF bytes are written atomically, so
// pieces end with a line where possible.
std::size_t whole_lines(std::string_view bytes) {
  if (bytes.size() <= PIPE_BUF) {
    return bytes.size();
  }
  const std::size_t line_end = bytes.rfind('\n', PIPE_BUF - 1);
  return line_end == std::string_view::npos ? PIPE_BUF : line_end + 1;
}

// The relay's own side: a process that reads what the job prints and writes it unchanged, waiting
// for a slow reader as the job would. Copies go to chokepoint if there is room at once. It keeps no
// file but those it needs, no terminal and no folder, and nothing but SIGKILL ends it before the
// job's output ends.
//
//   read ──▶ write all ──▶ copy to chokepoint, or count it as missed ──▶ read …
//     │         └─ the reader has closed: end, and the job's next write gets SIGPIPE
//     └─ closed by all processes of the job: end
class RelayProcess {
 public:
  RelayProcess(const RelayEnds& ends, const sys::Clock& clock)
      : ends_(ends),
        clock_(clock),
        in_portions_(kind_of(ends.to) == S_IFIFO),
        has_reader_(in_portions_ || kind_of(ends.to) == S_IFSOCK || ends.is_terminal) {}

  void run() {
    while (!is_over_) {
      turn();
    }
  }

 private:
  void turn() {
    // The output is polled for errors only: a pipe without readers.
    std::array<pollfd, 3> watched{pollfd{ends_.from, POLLIN, 0},
                                  pollfd{has_reader_ ? ends_.to : -1, 0, 0},
                                  pollfd{ends_.control, POLLIN, 0}};
    if (poll(watched.data(), watched.size(), timeout_ms()) < 0) {
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
      unread_bytes_ = 0;
    }
    report_drained();
  }

  int timeout_ms() const {
    if (has_ended_ && !has_reported_) {
      return unread_bytes_ == 0 ? kRetryIntervalMs : 0;
    }
    return ends_.is_terminal ? kSizeIntervalMs : -1;
  }

  void pass_on() {
    const ssize_t got = read(ends_.from, buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      return;
    }
    // A terminal reports by an error that its last user has closed it.
    if (got <= 0) {
      is_over_ = true;
      return;
    }
    const std::int64_t now = clock_.monotonic_ns();
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
    write_all(bytes);
    send_copy(bytes, now);
    unread_bytes_ -= std::min(unread_bytes_, bytes.size());
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
        // A full disk loses what the job printed, as it would without a relay. So does a terminal
        // that had gone before the job began: without a relay, the job would get no SIGPIPE either.
        is_over_ = has_reader_ && (errno == EPIPE || errno == EIO || errno == ECONNRESET);
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
      ends_.control = -1;  // poll() ignores it
      has_ended_ = false;
      return;
    }
    if (note.kind == NoteKind::Started) {
      job_ = note.pid;
    } else if (note.kind == NoteKind::Ended) {
      has_ended_ = true;
      unread_bytes_ = kMaxUnreadBytes;
    }
  }

  void report_drained() {
    if (has_ended_ && !has_reported_ && unread_bytes_ == 0) {
      Header header{.kind = HeaderKind::Drained, .missed = missed_};
      has_reported_ = send_message(header, {});
    }
  }

  // The job got SIGWINCH before its own terminal had the new size: it gets another one.
  void follow_size() const {
    if (ends_.is_terminal && copy_size(ends_.to, ends_.from) && job_ > 0 && !has_ended_) {
      kill(-job_, SIGWINCH);
    }
  }

  RelayEnds ends_;
  const sys::Clock& clock_;
  bool in_portions_;
  bool has_reader_;  // who may close
  pid_t job_ = 0;
  bool is_over_ = false;
  bool has_ended_ = false;  // the command
  bool has_reported_ = false;
  std::size_t unread_bytes_ = 0;  // upper bound of what the command printed and is not yet read
  std::uint64_t missed_ = 0;
  std::array<char, kMaxPieceBytes> buffer_ = {};
};

void ignore_and_unblock_signals() {
  sys::ignore_signals();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In a process just forked, with all signals blocked.
[[noreturn]] void become_relay(const RelayEnds& ends, const sys::Clock& clock) {
  prctl(PR_SET_NAME, kRelayName);
  ignore_and_unblock_signals();
  setsid();
  [[maybe_unused]] const int left = chdir("/");
  // Other files must not stay open by the relay after chokepoint or its caller closes them.
  sys::close_all_but({ends.from, ends.to, ends.control});
  RelayProcess(ends, clock).run();
  _exit(0);
}

// Per call: the loop that calls receive() has other work.
constexpr int kMaxPiecesPerCall = 64;
// A relay that something in the output makes crash would be replaced without end.
constexpr int kMaxReplacements = 100;
// For pieces that come while that loop is busy. The kernel clamps it to net.core.wmem_max.
constexpr int kQueueBytes = 1 << 20;

Result<std::array<sys::Descriptor, 2>> open_sockets() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail(from_errno(errno, "watch output", "socket"));
  }
  setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &kQueueBytes, sizeof(kQueueBytes));
  return std::array{sys::Descriptor(ends[0]), sys::Descriptor(ends[1])};
}

}  // namespace

Relay::Relay(OutputChannel& channel, const sys::Clock& clock)
    : stream_(channel.stream),
      clock_(&clock),
      job_output_(std::move(channel.relay_end)),
      destination_(channel.destination),
      is_terminal_(channel.is_terminal),
      buffer_(std::make_unique<char[]>(kMaxPieceBytes)) {}

Result<Relay> Relay::start(OutputChannel& channel, const sys::Clock& clock) {
  Relay relay(channel, clock);
  TRY(relay.start_process());
  return relay;
}

Result<> Relay::start_process() {
  TRY(auto sockets, open_sockets());
  auto& [own, theirs] = sockets;
  // No signal may reach the relay before it ignores them.
  const sys::SignalsHeld held;
  const pid_t pid = fork();
  if (pid < 0) {
    return fail(from_errno(errno, "watch output", "fork"));
  }
  if (pid == 0) {
    become_relay({.from = job_output_.get(),
                  .to = destination_,
                  .control = theirs.get(),
                  .is_terminal = is_terminal_},
                 *clock_);
  }
  pid_ = pid;
  socket_ = std::move(own);
  return {};
}

bool Relay::replace() {
  missed_before_ += missed_;
  missed_ = 0;
  if (!job_output_ || ++replaced_ > kMaxReplacements || !start_process()) {
    retire();
    return false;
  }
  return true;
}

void Relay::retire() { job_output_.reset(); }

void Relay::send(const Note& note) const {
  if (socket_) {
    ::send(socket_.get(), &note, sizeof(note), MSG_NOSIGNAL);
  }
}

bool Relay::receive_one(const OnOutput& on_output) {
  Header header;
  std::array<iovec, 2> parts{iovec{&header, sizeof(header)}, iovec{buffer_.get(), kMaxPieceBytes}};
  const ssize_t got = readv(socket_.get(), parts.data(), parts.size());
  if (got < 0) {
    return errno == EINTR;
  }
  if (got < static_cast<ssize_t>(sizeof(header))) {
    socket_.reset();
    return false;
  }
  missed_ = header.missed;
  is_drained_ = is_drained_ || header.kind == HeaderKind::Drained;
  if (header.kind == HeaderKind::Piece && on_output) {
    const std::size_t size = static_cast<std::size_t>(got) - sizeof(header);
    on_output({.t_ns = header.t_ns, .stream = stream_, .bytes = {buffer_.get(), size}});
  }
  return true;
}

void Relay::receive(const OnOutput& on_output) {
  int most = kMaxPiecesPerCall;
  while (socket_ && most-- > 0 && receive_one(on_output)) {
  }
}

Result<OutputWatch> OutputWatch::open(const sys::Clock& clock) {
  OutputWatch watch;
  Result<std::vector<OutputChannel>> channels = open_output_channels();
  if (!channels) {
    watch.remark_ = "no output: " + describe(channels.error());
    return watch;
  }
  watch.channels_ = *std::move(channels);
  for (OutputChannel& channel : watch.channels_) {
    TRY(Relay relay, Relay::start(channel, clock));
    watch.relays_.push_back(std::move(relay));
  }
  return watch;
}

void OutputWatch::connect(sys::Spawn& spawn) const {
  for (const OutputChannel& channel : channels_) {
    if (channel.stream == Stream::Out) {
      spawn.out = channel.job_end.get();
    }
    if (channel.stream == Stream::Err || channel.is_shared) {
      spawn.err = channel.job_end.get();
    }
  }
}

std::vector<Relay> OutputWatch::release() {
  channels_.clear();
  return std::move(relays_);
}

}  // namespace chokepoint::capture::job
