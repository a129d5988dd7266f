// The kernel's settings that bear on transfers, by their sysctl names, as text: what is a fact and
// what a check asks for are the same words that `sysctl -w` takes. Reads under the given root only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

class Sysctls {
 public:
  using Values = std::map<std::string, std::string>;

  Sysctls() = default;
  explicit Sysctls(Values values) : values_(std::move(values)) {}

  // Nothing where this kernel has no such setting, or it could not be read.
  std::optional<std::string> text(const std::string& name) const;
  std::optional<std::int64_t> number(const std::string& name) const;
  // The third of "least default most", as tcp_rmem and tcp_wmem have it.
  std::optional<std::int64_t> most(const std::string& name) const;

  const Values& all() const { return values_; }

 private:
  Values values_;
};

Sysctls read_sysctls(const sys::Root& root);
void append_facts(const Sysctls& sysctls, Facts& facts);

}  // namespace chokepoint::host
