#include "capture/job/output.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
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

// Messages between a relay and chokepoint:
//
//   chokepoint ── Started: pid of the job ──▶ relay     before the first output
//   chokepoint ── Resized ──────────────────▶ relay     the terminal's size has changed
//   relay ── Piece: bytes ──────────────────▶ chokepoint, for each piece
//   chokepoint ── Ended ────────────────────▶ relay     the command has ended
//   relay ── Drained ───────────────────────▶ chokepoint: all that it printed is written
//
// Either may close its end at any time. The relay drops a piece if there is no room for it; each
// message says how many were dropped since the one before it.
enum class PieceMessage : std::int32_t { Piece, Drained };

constexpr sys::WorkerWords kRelayWords{.operation = "watch output"};
constexpr std::chrono::milliseconds kAtOnce{0};

struct RelayEnds {
  int from = -1;             // what the job prints
  int to = -1;               // our own output
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
  RelayProcess(const RelayEnds& ends, sys::MessageSocket& chokepoint, const sys::Clock& clock)
      : ends_(ends),
        chokepoint_(chokepoint),
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
                                  pollfd{chokepoint_.descriptor(), POLLIN, 0}};
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
    if (!chokepoint_.is_gone() && !send(PieceMessage::Piece, bytes, now)) {
      ++missed_;
    }
  }

  bool send(PieceMessage kind, std::string_view bytes, std::int64_t now) {
    const bool is_sent = chokepoint_.send(kind, bytes, kAtOnce, {.number = missed_, .t_ns = now});
    missed_ = is_sent ? 0 : missed_;
    return is_sent;
  }

  void listen() {
    const auto note = chokepoint_.receive();
    if (chokepoint_.is_gone()) {
      chokepoint_.close();
      has_ended_ = false;
    } else if (note && note->kind<Note>() == Note::Started) {
      job_ = note->head.number;
    } else if (note && note->kind<Note>() == Note::Ended) {
      has_ended_ = true;
      unread_bytes_ = kMaxUnreadBytes;
    }
  }

  void report_drained() {
    if (has_ended_ && !has_reported_ && unread_bytes_ == 0) {
      has_reported_ = send(PieceMessage::Drained, {}, 0);
    }
  }

  // The job got SIGWINCH before its own terminal had the new size: it gets another one.
  void follow_size() const {
    if (ends_.is_terminal && copy_size(ends_.to, ends_.from) && job_ > 0 && !has_ended_) {
      kill(-job_, SIGWINCH);
    }
  }

  const RelayEnds ends_;
  sys::MessageSocket& chokepoint_;
  const sys::Clock& clock_;
  bool in_portions_;
  bool has_reader_;  // who may close
  pid_t job_ = 0;
  bool is_over_ = false;
  bool has_ended_ = false;  // the command
  bool has_reported_ = false;
  std::size_t unread_bytes_ = 0;  // upper bound of what the command printed and is not yet read
  std::int32_t missed_ = 0;       // copies since the last message
  std::array<char, sys::kMaxMessageBytes> buffer_ = {};
};

void ignore_and_unblock_signals() {
  sys::ignore_signals();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Per call: the loop that calls receive() has other work.
constexpr int kMaxPiecesPerCall = 64;
// A relay that something in the output makes crash would be replaced without end.
constexpr int kMaxReplacements = 100;
// For pieces that come while that loop is busy. The kernel clamps it to net.core.wmem_max.
constexpr int kQueueBytes = 1 << 20;

}  // namespace

Relay::Relay(OutputChannel& channel, const sys::Clock& clock)
    : stream_(channel.stream),
      clock_(&clock),
      job_output_(std::move(channel.relay_end)),
      destination_(channel.destination),
      is_terminal_(channel.is_terminal) {}

Result<Relay> Relay::start(OutputChannel& channel, const sys::Clock& clock) {
  Relay relay(channel, clock);
  TRY(relay.start_process());
  return relay;
}

Result<> Relay::start_process() {
  const RelayEnds ends{.from = job_output_.get(), .to = destination_, .is_terminal = is_terminal_};
  TRY(sys::Worker worker, sys::Worker::fork({.words = kRelayWords,
                                             .name = kRelayName,
                                             .descriptors = {ends.from, ends.to},
                                             .keeps_folder = false,
                                             .queue_bytes = kQueueBytes},
                                            [&](sys::MessageSocket& chokepoint) {
                                              ignore_and_unblock_signals();
                                              RelayProcess(ends, chokepoint, *clock_).run();
                                            }));
  worker_ = std::move(worker);
  return {};
}

bool Relay::replace() {
  const auto has_started = [this] {
    try {
      return start_process().has_value();
    } catch (const std::bad_alloc&) {
      return false;  // the job's parent goes on
    }
  };
  if (!job_output_ || ++replaced_ > kMaxReplacements || !has_started()) {
    retire();
    return false;
  }
  return true;
}

void Relay::retire() { job_output_.reset(); }

void Relay::send(Note note, pid_t job) const {
  worker_->socket().send(note, {}, kAtOnce, {.number = job});
}

void Relay::receive(const OnOutput& on_output) {
  for (int most = kMaxPiecesPerCall; most > 0; --most) {
    const auto received = worker_->receive();
    if (!received) {
      return;
    }
    missed_ += static_cast<std::uint64_t>(std::max(received->head.number, 0));
    if (received->kind<PieceMessage>() == PieceMessage::Drained) {
      is_drained_ = true;
    } else if (on_output) {
      on_output({.t_ns = received->head.t_ns, .stream = stream_, .bytes = received->bytes});
    }
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
