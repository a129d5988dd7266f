#include "capture/job/output_channel.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

namespace chokepoint::capture::job {
namespace {

// Clear of the standard streams, of which some may be closed.
constexpr int kLowest = 3;

sys::Descriptor clear_of_streams(int fd) {
  const sys::Descriptor given(fd);
  return sys::Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, kLowest));
}

// A file of our own may have got the number of a stream that was closed.
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

Result<> join_by_pipe(OutputChannel& channel) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(from_errno(errno, "watch output", "pipe"));
  }
  channel.relay_end = clear_of_streams(ends[0]);
  channel.job_end = clear_of_streams(ends[1]);
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
  channel.relay_end = clear_of_streams(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  const int own = channel.relay_end.get();
  if (own < 0 || grantpt(own) != 0 || unlockpt(own) != 0) {
    return fail(from_errno(errno, "watch output", "pseudo-terminal"));
  }
  // Not by its name: /dev/pts may be another one's here.
  channel.job_end = clear_of_streams(ioctl(own, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
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

}  // namespace

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

Result<std::vector<OutputChannel>> open_output_channels() {
  std::vector<OutputChannel> channels;
  const bool shared = is_inherited(STDOUT_FILENO) && is_inherited(STDERR_FILENO) &&
                      are_same_file(STDOUT_FILENO, STDERR_FILENO);
  for (const auto& [stream, fd] :
       {std::pair(Stream::Out, STDOUT_FILENO), std::pair(Stream::Err, STDERR_FILENO)}) {
    if (!is_inherited(fd) || (shared && stream == Stream::Err)) {
      continue;
    }
    Result<OutputChannel> channel = open_channel(stream, fd);
    if (!channel) {
      return std::unexpected(channel.error());
    }
    channel->is_shared = shared;
    channels.push_back(*std::move(channel));
  }
  return channels;
}

}  // namespace chokepoint::capture::job
