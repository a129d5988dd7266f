#include "probe/nuttcp/marks.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "base/net/socket.h"
#include "probe/nuttcp/protocol.h"

namespace chokepoint::probe::nuttcp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAfterBegin{250};
// nuttcp itself leaves 500; a receiver takes them as they come.
constexpr milliseconds kBetweenEnds{150};

Result<> send_mark(int fd, std::string_view mark) {
  // Refused: an ICMP message about an earlier one, perhaps from before the receiver was ready.
  if (send(fd, mark.data(), mark.size(), MSG_NOSIGNAL) < 0 && errno != ECONNREFUSED) {
    return fail(from_errno(errno, "send UDP", "nuttcp's mark"));
  }
  return {};
}

Result<> rest(milliseconds time, int interrupt) {
  const Result<> rested =
      net::wait_for(-1, 0, net::Patience::of(time, interrupt), "send UDP", "nuttcp's mark");
  return rested.error().kind == ErrorKind::Interrupted ? rested : Result<>{};
}

}  // namespace

Result<> send_begin_marks(int fd, int interrupt) {
  Result<> done = send_mark(fd, "BOD0");
  done = done ? rest(kAfterBegin, interrupt) : done;
  return done ? send_mark(fd, "BOD1") : done;
}

Result<> send_end_marks(int fd, int interrupt) {
  Result<> done = send_mark(fd, "EOD0");
  for (const std::string_view mark : {"EOD1", "EOD2", "EOD3", "EOD4"}) {
    done = done ? rest(kBetweenEnds, interrupt) : done;
    done = done ? send_mark(fd, mark) : done;
  }
  return done;
}

Result<> await_begin_mark(int fd, const net::Address& from, const net::Patience& patience) {
  while (true) {
    if (const Result<> came = net::wait_for(fd, POLLIN, patience, "wait for UDP from", from.text());
        !came) {
      return came;
    }
    std::array<std::byte, 64> packet{};
    sockaddr_storage source{};
    socklen_t length = sizeof(source);
    const ssize_t got = recvfrom(fd, packet.data(), packet.size(), MSG_DONTWAIT,
                                 reinterpret_cast<sockaddr*>(&source), &length);
    const Result<net::Endpoint> sender = net::Endpoint::from_socket(source);
    if (got >= 0 && sender && sender->address == from &&
        mark_of(std::span(packet).first(static_cast<std::size_t>(got)))) {
      return net::connect_udp(fd, *sender);
    }
  }
}

}  // namespace chokepoint::probe::nuttcp
