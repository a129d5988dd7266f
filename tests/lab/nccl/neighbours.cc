#include "tests/lab/nccl/neighbours.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace chokepoint::lab {
namespace {

constexpr int kTries = 2'000;
constexpr int kPauseUs = 10'000;

void must(bool holds, const char* what) {
  if (!holds) {
    std::perror(what);
    std::exit(1);
  }
}

sockaddr_in address_of(const Place& place) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(place.port));
  must(::inet_pton(AF_INET, place.address.c_str(), &address.sin_addr) == 1, "address");
  return address;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

void make_ready(const sys::Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

Neighbours meet(const Place& own_place, const Place& next_place) {
  const sys::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in own = address_of(own_place);
  must(::bind(listener.get(), generic(own), sizeof own) == 0 && ::listen(listener.get(), 4) == 0,
       "listen");
  const sockaddr_in next = address_of(next_place);
  Neighbours neighbours;
  for (int tries = 0; tries < kTries && !neighbours.next; ++tries) {
    sys::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), generic(next), sizeof next) == 0) {
      neighbours.next = std::move(socket);
    } else {
      ::usleep(kPauseUs);
    }
  }
  must(static_cast<bool>(neighbours.next), "connect");
  neighbours.before.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  must(static_cast<bool>(neighbours.before), "accept");
  make_ready(neighbours.next);
  make_ready(neighbours.before);
  return neighbours;
}

}  // namespace chokepoint::lab
