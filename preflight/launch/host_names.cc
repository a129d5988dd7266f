#include "preflight/launch/host_names.h"

#include <algorithm>
#include <string_view>

#include "base/cli/text.h"
#include "base/net/address.h"

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kMaxNameBytes = 255;

bool is_harmless(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-@:%+").find(c) != std::string_view::npos;
}

bool is_name(std::string_view host) {
  const std::string_view behind_user = host.substr(host.find('@') + 1);
  return !host.empty() && host.size() <= kMaxNameBytes && !host.starts_with('-') &&
         !behind_user.empty() && !behind_user.starts_with('-') &&
         std::ranges::all_of(host, is_harmless);
}

}  // namespace

Result<> check_names(const std::vector<std::string>& hosts) {
  const auto odd = std::ranges::find_if_not(hosts, is_name);
  if (odd == hosts.end()) {
    return {};
  }
  return fail(ErrorKind::Usage, "", "'" + cli::printable(odd->substr(0, kMaxNameBytes)) + "'",
              "this is no name of a host",
              "letters, digits and ._-@:%+ make one, and it begins with no '-'");
}

bool is_this_host(const std::string& name, const std::string& own_name,
                  const host::Addresses& own_addresses) {
  if (name == "localhost" || name == own_name ||
      (!name.empty() && name == own_name.substr(0, own_name.find('.')))) {
    return true;
  }
  const Result<net::Address> address = net::Address::parse(name);
  if (!address) {
    return false;
  }
  return address->is_loopback() ||
         (own_addresses.addresses &&
          std::ranges::any_of(*own_addresses.addresses, [&](const host::InterfaceAddress& own) {
            return own.address == *address;
          }));
}

}  // namespace chokepoint::preflight
