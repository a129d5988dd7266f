#include "analysis/mcp/stream.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/sys/descriptor.h"

namespace chokepoint::analysis::mcp {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

// False when `interrupt` came first.
bool wait_for(int descriptor, short event, int interrupt) {
  std::array<pollfd, 2> watched{pollfd{descriptor, event, 0}, pollfd{interrupt, POLLIN, 0}};
  while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
  }
  return watched[1].revents == 0;
}

class Stream {
 public:
  Stream(int in, int out, int interrupt, Server& server)
      : in_(in), out_(out), interrupt_(interrupt), server_(server) {}

  Result<ServedUntil> serve() {
    std::string piece(kPieceBytes, '\0');
    for (;;) {
      if (!wait_for(in_, POLLIN, interrupt_)) {
        return ServedUntil::Interrupted;
      }
      const ssize_t got = ::read(in_, piece.data(), piece.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        continue;
      }
      if (got < 0) {
        return fail(from_errno(errno, "read", "standard input"));
      }
      lines_.add(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
      const bool is_over = got == 0;
      TRY(const auto end, answer_all(is_over));
      if (end || is_over) {
        return end.value_or(ServedUntil::InputEnded);
      }
    }
  }

 private:
  // Nothing where it goes on.
  Result<std::optional<ServedUntil>> answer_all(bool is_over) {
    for (;;) {
      std::optional<Line> line = lines_.next();
      if (!line && is_over) {
        line = lines_.rest();
      }
      if (!line) {
        return std::nullopt;
      }
      std::optional<std::string> message = server_.answer(*line);
      if (sys::is_readable(interrupt_)) {
        return ServedUntil::Interrupted;
      }
      if (message) {
        *message += '\n';
        TRY(const auto end, send(*message));
        if (end) {
          return end;
        }
      }
    }
  }

  // In pieces that a pipe takes whole once it is writable, so that no write waits.
  Result<std::optional<ServedUntil>> send(std::string_view bytes) const {
    while (!bytes.empty()) {
      if (!wait_for(out_, POLLOUT, interrupt_)) {
        return ServedUntil::Interrupted;
      }
      const ssize_t put =
          ::write(out_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
      if (put < 0 && errno == EPIPE) {
        return ServedUntil::OutputClosed;
      }
      if (put < 0 && errno != EINTR && errno != EAGAIN) {
        return fail(from_errno(errno, "write", "standard output"));
      }
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
    }
    return std::nullopt;
  }

  int in_;
  int out_;
  int interrupt_;
  Server& server_;
  LineReader lines_;
};

}  // namespace

Result<ServedUntil> serve(int in, int out, int interrupt, Server& server) {
  return Stream(in, out, interrupt, server).serve();
}

}  // namespace chokepoint::analysis::mcp
