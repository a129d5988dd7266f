#include "tests/lab/nccl/neighbours.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace chokepoint::lab {
namespace {

constexpr int kTries = 6'000;
constexpr int kPauseUs = 10'000;

void must(bool holds, const char* what) {
  if (!holds) {
    std::perror(what);
    std::exit(1);
  }
}

// A socket and the address that it shall have, or shall connect to.
struct End {
  sys::Descriptor socket = {};
  sockaddr_storage address = {};
  socklen_t bytes = 0;

  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&address); }
};

End end_in_host(const std::string& name) {
  End end{.socket = sys::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  auto& address = reinterpret_cast<sockaddr_un&>(end.address);
  must(name.size() < sizeof address.sun_path, "name");
  address.sun_family = AF_UNIX;
  std::copy(name.begin() + 1, name.end(), address.sun_path + 1);  // abstract: it begins with 0
  end.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return end;
}

End end_of(const Place& place) {
  if (place.address.front() == '@') {
    return end_in_host(place.address);
  }
  End end{.socket = sys::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
          .bytes = sizeof(sockaddr_in)};
  auto& address = reinterpret_cast<sockaddr_in&>(end.address);
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(place.port));
  must(::inet_pton(AF_INET, place.address.c_str(), &address.sin_addr) == 1, "address");
  return end;
}

sys::Descriptor listener_at(const Place& own) {
  End end = end_of(own);
  const int on = 1;
  ::setsockopt(end.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  must(
      ::bind(end.socket.get(), end.generic(), end.bytes) == 0 && ::listen(end.socket.get(), 4) == 0,
      "listen");
  return std::move(end.socket);
}

sys::Descriptor connected_to(const Place& next) {
  for (int tries = 0; tries < kTries; ++tries) {
    End end = end_of(next);
    if (::connect(end.socket.get(), end.generic(), end.bytes) == 0) {
      return std::move(end.socket);
    }
    ::usleep(kPauseUs);
  }
  must(false, "connect");
  return {};
}

void make_ready(const sys::Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

Neighbours meet(const Place& own, const Place& next) {
  const sys::Descriptor listener = own.address.empty() ? sys::Descriptor() : listener_at(own);
  Neighbours neighbours;
  if (!next.address.empty()) {
    neighbours.next = connected_to(next);
    make_ready(neighbours.next);
  }
  if (listener) {
    neighbours.before.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    must(static_cast<bool>(neighbours.before), "accept");
    make_ready(neighbours.before);
  }
  return neighbours;
}

}  // namespace chokepoint::lab
