#include "base/net/resolver.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/sys/late.h"

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
    error.next_step = "is the name right? 'getent hosts " + name + "' makes the same query";
  }
  return error;
}

}  // namespace

Result<std::vector<Address>> resolve(const std::string& name, std::optional<Family> only) {
  addrinfo hints{};
  hints.ai_family = family_number(only);
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const auto address = Address::parse(name); address && only && address->family() != *only) {
    const bool is_ipv4 = *only == Family::Ipv6;
    return fail(ErrorKind::Usage, "", name, is_ipv4 ? "is an IPv4 address" : "is an IPv6 address",
                is_ipv4 ? "leave -6 out" : "leave -4 out");
  }
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

Result<std::vector<Address>> resolve_within(const std::string& name, std::optional<Family> only,
                                            const Deadline& deadline) {
  constexpr std::chrono::milliseconds kSlice{50};  // between two looks at the interrupt
  sys::Late<Result<std::vector<Address>>> lookup([name, only] { return resolve(name, only); });
  while (!deadline.over()) {
    const auto slice_end = std::min(deadline.until, Deadline::Clock::now() + kSlice);
    if (std::optional<Result<std::vector<Address>>> found = lookup.by(slice_end)) {
      return std::move(*found);
    }
    const Result<> going = wait_for(-1, 0, deadline.at_most({}), "resolve", name);
    if (!going && going.error().kind == ErrorKind::Interrupted) {
      return std::unexpected(going.error());
    }
  }
  return fail(ErrorKind::Timeout, "resolve", name, "no name server answered in time",
              "give an address, or fix /etc/resolv.conf");
}

}  // namespace chokepoint::net
