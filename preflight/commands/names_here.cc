#include "preflight/commands/names_here.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/net/address.h"

namespace chokepoint::preflight {
namespace {

std::string first_label(const std::string& name) { return name.substr(0, name.find('.')); }

}  // namespace

bool may_be_loopback(const std::string& name, const std::string& own) {
  const std::string label = first_label(name);
  return label == first_label(own) || label == "localhost" || label == "ip6-localhost" ||
         net::Address::parse(name).has_value();
}

Result<std::vector<net::Address>> resolve_here(const std::string& name,
                                               std::optional<net::Family> only,
                                               const std::string& own) {
  Result<std::vector<net::Address>> addresses = net::resolve(name, only);
  if (!addresses || addresses->empty() || may_be_loopback(name, own) ||
      !std::ranges::all_of(*addresses, &net::Address::is_loopback)) {
    return addresses;
  }
  return fail(ErrorKind::Malformed, "resolve", name,
              fmt::format("leads to {}, which is this host, {}", addresses->front().text(), own),
              "mend /etc/hosts here, or give the host's address");
}

}  // namespace chokepoint::preflight
