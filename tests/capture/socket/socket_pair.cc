#include "tests/capture/socket/socket_pair.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace chokepoint::capture::socket {
namespace {

void must(bool holds, const char* what) {
  if (!holds) {
    throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
  }
}

struct Place {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  sockaddr* address() { return reinterpret_cast<sockaddr*>(&storage); }
};

Place place_of(const std::string& address, std::uint16_t port) {
  Place place;
  if (address.find(':') == std::string::npos) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(place.storage);
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    must(inet_pton(AF_INET, address.c_str(), &ipv4.sin_addr) == 1, "address");
    place.size = sizeof(ipv4);
  } else {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(place.storage);
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    must(inet_pton(AF_INET6, address.c_str(), &ipv6.sin6_addr) == 1, "address");
    place.size = sizeof(ipv6);
  }
  return place;
}

sys::Descriptor tcp_socket(const Place& place) {
  sys::Descriptor made(::socket(place.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  must(static_cast<bool>(made), "socket");
  return made;
}

}  // namespace

Listener::Listener(const std::string& address) {
  Place place = place_of(address, 0);
  socket_ = tcp_socket(place);
  must(bind(socket_.get(), place.address(), place.size) == 0, "bind");
  must(listen(socket_.get(), 4'096) == 0, "listen");
  must(getsockname(socket_.get(), place.address(), &place.size) == 0, "getsockname");
  port_ = ntohs(reinterpret_cast<const sockaddr_in&>(place.storage).sin_port);
}

sys::Descriptor Listener::accept() const {
  sys::Descriptor accepted(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  must(static_cast<bool>(accepted), "accept");
  return accepted;
}

sys::Descriptor connect_to(const std::string& address, std::uint16_t port, int send_bytes) {
  Place place = place_of(address, port);
  sys::Descriptor client = tcp_socket(place);
  if (send_bytes != 0) {
    must(setsockopt(client.get(), SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes)) == 0,
         "SO_SNDBUF");
  }
  must(connect(client.get(), place.address(), place.size) == 0, "connect");
  return client;
}

SocketPair connect_over(const Listener& listener, const std::string& address, int send_bytes) {
  SocketPair pair;
  pair.client = connect_to(address, listener.port(), send_bytes);
  pair.server = listener.accept();
  return pair;
}

void carry(const SocketPair& pair, std::size_t bytes) {
  std::vector<char> piece(std::min<std::size_t>(bytes, 16'384));
  while (bytes > 0) {
    const std::size_t next = std::min(bytes, piece.size());
    must(send(pair.client.get(), piece.data(), next, MSG_NOSIGNAL) == static_cast<ssize_t>(next),
         "send");
    must(recv(pair.server.get(), piece.data(), next, MSG_WAITALL) == static_cast<ssize_t>(next),
         "recv");
    bytes -= next;
  }
}

Child::Child(const Body& body) {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  must(pipe2(there.data(), O_CLOEXEC) == 0 && pipe2(back.data(), O_CLOEXEC) == 0, "pipe");
  pid_ = fork();
  must(pid_ >= 0, "fork");
  const bool is_child = pid_ == 0;
  in_.reset(is_child ? there[0] : back[0]);
  out_.reset(is_child ? back[1] : there[1]);
  close(is_child ? there[1] : back[1]);
  close(is_child ? back[0] : there[0]);
  if (!is_child) {
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    body(*this);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

void Child::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
}

void Child::send_word(std::uint16_t word) const {
  must(write(out_.get(), &word, sizeof(word)) == sizeof(word), "write");
}

std::uint16_t Child::receive_word() const {
  std::uint16_t word = 0;
  must(read(in_.get(), &word, sizeof(word)) == sizeof(word), "read");
  return word;
}

}  // namespace chokepoint::capture::socket
