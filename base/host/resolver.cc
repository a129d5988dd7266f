#include "base/host/resolver.h"

#include <algorithm>
#include <optional>

#include "base/host/words.h"
#include "base/net/resolve.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kOperation = "resolve";

class SystemResolver : public Resolver {
 public:
  Result<std::vector<net::Address>> resolve(const std::string& name) override {
    return net::resolve(name, std::nullopt);
  }
};

class HostsFileResolver : public Resolver {
 public:
  explicit HostsFileResolver(const sys::Root& root) : root_(root) {}

  Result<std::vector<net::Address>> resolve(const std::string& name) override {
    const Result<std::string> hosts = root_.read("/etc/hosts");
    std::vector<net::Address> addresses;
    for (const std::string& line : lines_of(hosts.value_or(""))) {
      const std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
      if (words.empty() || std::find(words.begin() + 1, words.end(), name) == words.end()) {
        continue;
      }
      if (const Result<net::Address> address = net::Address::parse(words[0])) {
        addresses.push_back(*address);
      }
    }
    if (addresses.empty()) {
      return fail(ErrorKind::Unsupported, kOperation, name,
                  "not in /etc/hosts, and a copy has no name server to ask");
    }
    return addresses;
  }

 private:
  sys::Root root_;
};

}  // namespace

std::unique_ptr<Resolver> resolver_for(const sys::Root& root) {
  if (root.is_live()) {
    return std::make_unique<SystemResolver>();
  }
  return std::make_unique<HostsFileResolver>(root);
}

}  // namespace chokepoint::host
