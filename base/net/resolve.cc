#include "base/net/resolve.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace chokepoint::net {
namespace {

int family_number(std::optional<Family> only) {
  if (!only) {
    return AF_UNSPEC;
  }
  return *only == Family::Ipv4 ? AF_INET : AF_INET6;
}

Error resolver_error(int code, const std::string& name) {
  if (code == EAI_SYSTEM) {
    return from_errno(errno, "resolve", name);
  }
  Error error{ErrorKind::NotFound, "resolve", name, 0, gai_strerror(code), {}};
  if (code == EAI_AGAIN) {
    error.kind = ErrorKind::Timeout;
    error.next_step = "is the name server reachable? 'getent hosts " + name + "' asks it";
  } else {
    error.next_step = "is the name right? 'getent hosts " + name + "' asks the same way";
  }
  return error;
}

}  // namespace

Result<std::vector<Address>> resolve(const std::string& name, std::optional<Family> only) {
  addrinfo hints{};
  hints.ai_family = family_number(only);
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int code = getaddrinfo(name.c_str(), nullptr, &hints, &list); code != 0) {
    return fail(resolver_error(code, name));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    sockaddr_storage socket{};
    std::memcpy(&socket, entry->ai_addr, entry->ai_addrlen);
    const Result<Endpoint> endpoint = Endpoint::from_socket(socket);
    if (endpoint && std::ranges::find(addresses, endpoint->address) == addresses.end()) {
      addresses.push_back(endpoint->address);
    }
  }
  return addresses;
}

}  // namespace chokepoint::net
