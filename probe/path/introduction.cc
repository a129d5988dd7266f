#include "probe/path/introduction.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <tuple>

#include "base/net/socket.h"

namespace chokepoint::probe::path {
namespace {

constexpr std::string_view kGreeting = "ckpg";
constexpr std::string_view kWelcome = "ckpw";
constexpr std::chrono::milliseconds kRepeat{100};

bool welcomed(int fd) {
  std::array<char, 16> datagram{};
  const ssize_t got = recv(fd, datagram.data(), datagram.size(), MSG_DONTWAIT);
  return got > 0 && std::string_view(datagram.data(), static_cast<std::size_t>(got)) == kWelcome;
}

}  // namespace

Result<sys::Descriptor> introduce(const net::Address& own, const net::Endpoint& server,
                                  const std::string& token, const net::Patience& patience) {
  Result<sys::Descriptor> socket = net::bind_udp({.address = own}, {});
  if (!socket) {
    return socket;
  }
  TRY(net::connect_udp(socket->get(), server));
  const std::string greeting = std::string(kGreeting) + token;
  while (!patience.over()) {
    // A failure is an earlier greeting's; it shows again or passes.
    std::ignore = send(socket->get(), greeting.data(), greeting.size(), MSG_DONTWAIT);
    const Result<> waited =
        net::wait_for(socket->get(), POLLIN, patience.at_most(kRepeat), "greet", server.text());
    if (waited && welcomed(socket->get())) {
      return socket;
    }
    if (!waited && waited.error().kind != ErrorKind::Timeout) {
      return std::unexpected(waited.error());
    }
    if (waited) {
      // It failed at once, and would again.
      std::ignore = net::wait_for(-1, 0, patience.at_most(kRepeat), "greet", server.text());
    }
  }
  return fail(ErrorKind::Timeout, "greet", server.text(), "UDP does not pass");
}

void Doorman::answer() {
  std::array<char, 128> datagram{};
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  const ssize_t got = recvfrom(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT,
                               reinterpret_cast<sockaddr*>(&storage), &length);
  if (got <= 0) {
    return;
  }
  const Result<net::Endpoint> from = net::Endpoint::from_socket(storage);
  const std::string_view said(datagram.data(), static_cast<std::size_t>(got));
  if (!from || from->address != client_ || said != std::string(kGreeting) + token_) {
    return;
  }
  met_ = true;
  from_ = *from;
  std::ignore = sendto(socket_.get(), kWelcome.data(), kWelcome.size(), MSG_DONTWAIT,
                       reinterpret_cast<const sockaddr*>(&storage), length);
}

Result<sys::Descriptor> Doorman::release() {
  TRY(net::connect_udp(socket_.get(), from_));
  return std::move(socket_);
}

}  // namespace chokepoint::probe::path
