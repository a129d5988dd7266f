#include "probe/collective/way/connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "base/net/socket.h"

namespace chokepoint::probe::collective {
namespace {

std::vector<int> own_descriptors() {
  std::vector<int> numbers;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", problem)) {
    const std::string name = entry.path().filename().string();
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::optional<std::uint64_t> tcp_socket(int fd) {
  struct stat state{};
  int protocol = 0;
  socklen_t size = sizeof protocol;
  if (fstat(fd, &state) != 0 || !S_ISSOCK(state.st_mode) ||
      getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != IPPROTO_TCP) {
    return std::nullopt;
  }
  return state.st_ino;
}

// Nothing where it is not connected.
std::optional<Connection> connection_of(int fd) {
  const Result<net::Endpoint> local = net::local_endpoint(fd);
  const Result<net::Endpoint> peer = net::peer_endpoint(fd);
  if (!local || !peer) {
    return std::nullopt;
  }
  return Connection{.local = {local->address.unmapped(), local->port},
                    .peer = {peer->address.unmapped(), peer->port}};
}

}  // namespace

ConnectionsSince::ConnectionsSince() {
  for (const int fd : own_descriptors()) {
    if (const std::optional<std::uint64_t> inode = tcp_socket(fd)) {
      before_.insert(*inode);
    }
  }
}

std::vector<Connection> ConnectionsSince::now() const {
  std::vector<Connection> found;
  for (const int fd : own_descriptors()) {
    const std::optional<std::uint64_t> inode = tcp_socket(fd);
    if (!inode || before_.contains(*inode)) {
      continue;
    }
    if (const std::optional<Connection> connection = connection_of(fd)) {
      found.push_back(*connection);
    }
  }
  return found;
}

}  // namespace chokepoint::probe::collective
