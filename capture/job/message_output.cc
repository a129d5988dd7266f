#include "capture/job/message_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace chokepoint::capture::job {
namespace {

constexpr std::chrono::milliseconds kMessageTimeout{200};
constexpr std::size_t kMaxMessageText = std::size_t{1} << 16;
constexpr int kAboveStreams = 3;

// The same file under a descriptor that does not wait; none where there is no way to it. A regular
// file is not opened again: it would be written from its start.
sys::Descriptor open_again(int descriptor) {
  const sys::Descriptor again(open(fmt::format("/proc/self/fd/{}", descriptor).c_str(),
                                   O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return sys::Descriptor(again ? fcntl(again.get(), F_DUPFD_CLOEXEC, kAboveStreams) : -1);
}

bool has_room(int descriptor, std::chrono::milliseconds time) {
  pollfd room{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return poll(&room, 1, static_cast<int>(time.count())) > 0;
}

void ignore(int) {}

// A handler instead of SIG_IGN, which exec() would leave to the job.
void survive_broken_pipes() {
  struct sigaction action{};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = ignore;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPIPE, &action, nullptr);
  }
}

}  // namespace

MessageBuffer::MessageBuffer(int descriptor) : descriptor_(descriptor) {
  struct stat status{};
  // A file of this process's own may have the number of a closed stream later.
  is_gone_ = fstat(descriptor, &status) != 0;
  is_socket_ = S_ISSOCK(status.st_mode);
  if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
    own_ = open_again(descriptor);
  }
}

MessageBuffer::int_type MessageBuffer::overflow(int_type letter) {
  if (!traits_type::eq_int_type(letter, traits_type::eof())) {
    const char byte = traits_type::to_char_type(letter);
    xsputn(&byte, 1);
  }
  return traits_type::not_eof(letter);
}

std::streamsize MessageBuffer::xsputn(const char* text, std::streamsize size) {
  const std::size_t room = kMaxMessageText - text_.size();
  text_.append(text, std::min(static_cast<std::size_t>(size), room));
  return size;
}

ssize_t MessageBuffer::put(std::string_view text) const {
  if (is_socket_) {
    return send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (own_) {
    return write(own_.get(), text.data(), text.size());
  }
  if (!has_room(descriptor_, std::chrono::milliseconds(0))) {
    errno = EAGAIN;
    return -1;
  }
  // A pipe that has room has it for this much.
  return write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
}

int MessageBuffer::sync() {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + (is_late_ ? std::chrono::milliseconds(0) : kMessageTimeout);
  is_late_ = false;
  while (!text_.empty() && !is_gone_ && !is_late_) {
    const ssize_t written = put(text_);
    if (written >= 0) {
      text_.erase(0, static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      is_late_ = left.count() <= 0 || !has_room(own_ ? own_.get() : descriptor_, left);
    } else {
      // A full disk may have room for the next message.
      is_gone_ = errno == EPIPE || errno == EIO || errno == ECONNRESET || errno == EBADF;
      is_late_ = errno != EINTR;
    }
  }
  text_.clear();
  return 0;
}

MessageOutput::MessageOutput(int descriptor) : std::ostream(nullptr), buffer_(descriptor) {
  survive_broken_pipes();
  rdbuf(&buffer_);
}

}  // namespace chokepoint::capture::job
