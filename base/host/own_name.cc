#include "base/host/own_name.h"

#include <utility>

#include "base/host/fact_list.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kKernelName = "/proc/sys/kernel/hostname";
constexpr std::string_view kConfiguredName = "/etc/hostname";

std::optional<std::string> read_name(const sys::Root& root) {
  const std::optional<std::string> name = root.text(kKernelName);
  return name ? name : root.text(kConfiguredName);
}

}  // namespace

OwnName read_own_name(const sys::Root& root, Resolver& resolver) {
  OwnName own;
  own.name = read_name(root);
  if (!own.name) {
    return own;
  }
  Result<std::vector<net::Address>> addresses = resolver.resolve(*own.name);
  if (addresses) {
    own.addresses = *std::move(addresses);
  } else if (addresses.error().kind == ErrorKind::NotFound) {
    own.addresses.emplace();
  } else {
    own.error = std::move(addresses).error();
  }
  return own;
}

OwnName read_own_name(const sys::Root& root) { return read_own_name(root, *resolver_for(root)); }

OwnName unanswered_own_name(const sys::Root& root) {
  OwnName own{.name = read_name(root), .addresses = {}, .error = {}};
  own.error = Error{ErrorKind::Timeout,
                    "resolve",
                    own.name.value_or(""),
                    0,
                    "the resolver did not answer in time",
                    {}};
  return own;
}

void append_facts(const OwnName& own, Facts& facts) {
  FactList list(facts, "name");
  list.add("name", own.name, kKernelName);
  for (const net::Address& address : own.addresses.value_or(std::vector<net::Address>())) {
    list.add_text("address", address.text(), "getaddrinfo, /etc/hosts");
  }
}

}  // namespace chokepoint::host
