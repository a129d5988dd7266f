#include "base/checks/rdma_flow_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace chokepoint::checks {
namespace {

const host::Nic* nic_of(const host::Network& network, const host::RdmaPort& port) {
  const auto found = std::ranges::find_if(
      network.nics, [&](const host::Nic& nic) { return nic.name == port.netdev; });
  return found == network.nics.end() ? nullptr : &*found;
}

bool pauses_all(const host::Nic& nic) {
  const auto& pause = nic.settings.pause;
  return pause && pause->rx.value_or(false) && pause->tx.value_or(false);
}

void judge(const host::Nic& nic, Check& check) {
  const auto& pfc = nic.settings.pfc;
  if (pfc && !pfc->enabled.empty()) {
    check.found = fmt::format("PFC of priority {}", fmt::join(pfc->enabled, ", "));
  } else if (pauses_all(nic)) {
    check.status = Status::Info;
    check.found = "pause frames for all traffic";
    check.why = "a pause stops all that the port carries, not RoCE's class alone";
  } else if (pfc) {
    check.status = Status::Warning;
    check.found = "PFC off, pause frames off";
    check.next_step = fmt::format(
        "dcb pfc set dev {} prio-pfc 3:on, the same on every switch of the path, and RoCE in "
        "priority 3",
        nic.name);
  } else {
    check.status = Status::Unknown;
    check.next_step = fmt::format("dcb pfc show dev {0}, or mlnx_qos -i {0}", nic.name);
  }
}

}  // namespace

void check_flow_control(const host::RdmaDevice& device, const host::RdmaPort& port,
                        const host::Network& network, Checks& checks) {
  const host::Nic* nic = nic_of(network, port);
  if (!device.pci || nic == nullptr) {
    return;
  }
  Check check{.id = "rdma.flow-control",
              .subject = fmt::format("{}/{}", device.name, port.number),
              .wanted = "PFC for the priority that carries RoCE, or ECN along the whole path",
              .why =
                  "RoCE sends much anew for one lost packet: a full queue should hold the "
                  "sender back, not drop"};
  judge(*nic, check);
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::checks
