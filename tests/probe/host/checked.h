// What the tests of the checks share: a fixture's checks, one check among them, and a port to
// spoil.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

constexpr std::int64_t kGibibyte = 1LL << 30;

Checks checked_fixture(const std::string& name);
host::Network network_of(const std::string& fixture);

// Fails the test and returns an empty check where there is none.
Check find_check(const Checks& checks, std::string_view id, std::string_view subject = "host");
bool has_check(const Checks& checks, std::string_view id);

// A physical port that is up, about which no check complains.
host::Nic sound_port(std::int64_t speed_mbps);

// The one check that a function of one port leaves; nothing but a failure where it leaves another
// number.
template <class Function>
Check only(Function function, const host::Nic& nic) {
  Checks checks;
  function(nic, checks);
  return checks.size() == 1 ? checks.front() : Check{.id = "not one check"};
}

template <class Function>
Check only(Function function, const host::Network& network, const host::Nic& nic) {
  Checks checks;
  function(network, nic, checks);
  return checks.size() == 1 ? checks.front() : Check{.id = "not one check"};
}

}  // namespace chokepoint::probe
