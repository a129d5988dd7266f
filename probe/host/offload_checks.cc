#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "probe/host/nic_rules.h"
#include "probe/host/nic_setting_checks.h"

namespace chokepoint::probe {
namespace {

struct Offload {
  std::string_view word;    // as ethtool -K takes it
  std::string_view prefix;  // of the kernel's names; on where one of them is on
};

constexpr std::array<Offload, 5> kWanted{Offload{"gro", "rx-gro"},
                                         {"gso", "tx-generic-segmentation"},
                                         {"tso", "tx-tcp-segmentation"},
                                         {"rx", "rx-checksum"},
                                         {"tx", "tx-checksum-ip"}};

struct State {
  bool known = false;
  bool active = false;
  bool fixed = true;
};

State state_of(const host::Nic& nic, std::string_view prefix) {
  State state;
  for (const net::Feature& feature : nic.settings.features) {
    // "rx-gro" must not take "rx-gro-hw" and "rx-gro-list" for itself; the checksums come in
    // several flavours: tx-checksum-ipv4, tx-checksum-ip-generic.
    const bool same =
        prefix == "tx-checksum-ip" ? feature.name.starts_with(prefix) : feature.name == prefix;
    if (same) {
      state.known = true;
      state.active |= feature.active;
      state.fixed &= feature.fixed;
    }
  }
  return state;
}

struct Missing {
  std::string names;
  std::string command;
};

Missing missing_offloads(const host::Nic& nic) {
  Missing missing;
  for (const Offload& offload : kWanted) {
    const State state = state_of(nic, offload.prefix);
    if (!state.known || state.active) {
      continue;
    }
    missing.names += fmt::format("{}{} off", missing.names.empty() ? "" : ", ", offload.word);
    if (!state.fixed) {
      missing.command += fmt::format(" {} on", offload.word);
    }
  }
  const State lro = state_of(nic, "rx-lro");
  if (lro.known && lro.active && speed_or_zero(nic) >= kFastMbps) {
    missing.names += missing.names.empty() ? "lro on" : ", lro on";
    missing.command += lro.fixed ? "" : " lro off";
  }
  return missing;
}

}  // namespace

void check_offloads(const host::Nic& nic, Checks& checks) {
  if (!is_in_use(nic) || nic.settings.features.empty()) {
    return;
  }
  Check check = check_of("nic.offloads", nic,
                         "without them the CPU handles every packet of 1500 bytes by itself");
  const Missing missing = missing_offloads(nic);
  check.found = missing.names.empty() ? "on" : missing.names;
  if (!missing.names.empty()) {
    const bool mendable = !missing.command.empty();
    check.status = mendable && speed_or_zero(nic) >= kFastMbps ? Status::Warning : Status::Info;
    check.wanted = "gro gso tso and checksums on, lro off";
    check.next_step = mendable ? fmt::format("ethtool -K {}{}", nic.name, missing.command) : "";
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::probe
