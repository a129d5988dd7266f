// One thing known about this host and where it was read, flat, so that the run record can keep it
// and a report can lead back to it. A value.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chokepoint::host {

struct Fact {
  std::string category;  // "nic", "pci", "cpu", "sysctl"
  std::string subject;   // "eth0", "0000:3b:00.0"; empty for the host itself
  std::string key;       // "mtu"
  std::string value;     // "9000"
  std::string source;    // "/sys/class/net/eth0/mtu", "ethtool"
};

using Facts = std::vector<Fact>;

// Appends what is known about one subject to a list of facts; what could not be read leaves none.
// Borrows the list for as long as it lives; one thread.

class FactList {
 public:
  FactList(Facts& facts, std::string category, std::string subject = {})
      : facts_(facts), category_(std::move(category)), subject_(std::move(subject)) {}

  template <class T>
  void add(std::string_view key, const std::optional<T>& value, std::string_view source) {
    if (value) {
      add_text(key, fmt::format("{}", *value), source);
    }
  }

  void add_text(std::string_view key, std::string value, std::string_view source) {
    facts_.push_back(
        {category_, subject_, std::string(key), std::move(value), std::string(source)});
  }

 private:
  Facts& facts_;
  std::string category_;
  std::string subject_;
};

}  // namespace chokepoint::host
