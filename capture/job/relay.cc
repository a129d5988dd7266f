#include "capture/job/relay.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/sys/signals.h"
#include "capture/job/relay_process.h"

namespace chokepoint::capture::job {
namespace {

// The loop that calls receive() has other work.
constexpr int kMostPieces = 64;
// For what comes while that loop is busy: the most a system gives without being asked by root.
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

Relay::Relay(pid_t pid, Stream stream, sys::Descriptor socket)
    : pid_(pid),
      stream_(stream),
      socket_(std::move(socket)),
      buffer_(std::make_unique<char[]>(kLargestPiece)) {}

Result<Relay> Relay::start(OutputChannel& channel, const sys::Clock& clock) {
  TRY(auto sockets, open_sockets());
  auto& [own, theirs] = sockets;
  // So that none strikes the relay before it is deaf to it.
  const sys::SignalsHeld held;
  const pid_t pid = fork();
  if (pid < 0) {
    return fail(from_errno(errno, "watch output", "fork"));
  }
  if (pid == 0) {
    become_relay({.from = channel.relay_end.get(),
                  .to = channel.destination,
                  .control = theirs.get(),
                  .is_terminal = channel.is_terminal},
                 clock);
  }
  channel.relay_end.reset();
  return Relay(pid, channel.stream, std::move(own));
}

void Relay::tell(const Note& note) const {
  if (socket_) {
    send(socket_.get(), &note, sizeof(note), MSG_NOSIGNAL);
  }
}

bool Relay::receive_one(const OnOutput& on_output) {
  Header header;
  std::array<iovec, 2> parts{iovec{&header, sizeof(header)}, iovec{buffer_.get(), kLargestPiece}};
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
  int most = kMostPieces;
  while (socket_ && most-- > 0 && receive_one(on_output)) {
  }
}

}  // namespace chokepoint::capture::job
