#include "probe/tcp/outlet.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

namespace chokepoint::probe::tcp {
namespace {

constexpr std::size_t kPage = 4096;

struct Pipe {
  sys::Descriptor out;
  sys::Descriptor in;
};

std::optional<Pipe> make_pipe(std::size_t size) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) {
    return std::nullopt;
  }
  Pipe pipe{sys::Descriptor(ends[0]), sys::Descriptor(ends[1])};
  // Less than that is what an unprivileged user gets once he has many; it works all the same.
  fcntl(pipe.in.get(), F_SETPIPE_SZ, static_cast<int>(size));
  return pipe;
}

}  // namespace

Outlet::Outlet(int socket, const Payload& payload, bool zero_copy)
    : socket_(socket), payload_(payload), largest_(payload.bytes().size()) {
  zero_copy_ = zero_copy && fill_pipe();
}

bool Outlet::fill_pipe() {
  std::optional<Pipe> full = make_pipe(payload_.bytes().size());
  std::optional<Pipe> second = make_pipe(payload_.bytes().size());
  if (!full || !second) {
    return false;
  }
  const auto fits = static_cast<std::size_t>(std::max(
      std::min(fcntl(full->in.get(), F_GETPIPE_SZ), fcntl(second->in.get(), F_GETPIPE_SZ)), 0));
  const std::size_t size = std::min(fits, payload_.bytes().size()) / kPage * kPage;
  iovec pages{const_cast<std::byte*>(payload_.bytes().data()), size};
  const ssize_t filled = vmsplice(full->in.get(), &pages, 1, SPLICE_F_NONBLOCK);
  if (filled < static_cast<ssize_t>(kPage)) {
    return false;
  }
  largest_ = static_cast<std::size_t>(filled);
  full_out_ = std::move(full->out);
  full_in_ = std::move(full->in);
  out_ = std::move(second->out);
  in_ = std::move(second->in);
  return true;
}

ssize_t Outlet::splice_some(std::size_t most) {
  if (waiting_ == 0) {
    const ssize_t copied = tee(full_out_.get(), in_.get(), most, SPLICE_F_NONBLOCK);
    if (copied < 0) {
      return copied;
    }
    waiting_ = static_cast<std::size_t>(copied);
  }
  const ssize_t sent =
      splice(out_.get(), nullptr, socket_, nullptr, std::min(waiting_, most), SPLICE_F_MOVE);
  waiting_ -= sent > 0 ? static_cast<std::size_t>(sent) : 0;
  return sent;
}

ssize_t Outlet::send_some(std::size_t most) {
  const std::size_t size = std::min(most, largest_);
  if (!zero_copy_) {
    return send(socket_, payload_.bytes().data(), size, MSG_NOSIGNAL);
  }
  const ssize_t sent = splice_some(size);
  if (sent < 0 && errno == EINVAL) {
    zero_copy_ = false;
    return send(socket_, payload_.bytes().data(), size, MSG_NOSIGNAL);
  }
  return sent;
}

}  // namespace chokepoint::probe::tcp
