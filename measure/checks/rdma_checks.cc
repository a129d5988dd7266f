#include "measure/checks/rdma_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/math/units.h"

namespace chokepoint::checks {
namespace {

using host::RdmaDevice;
using host::RdmaGid;
using host::RdmaPort;

constexpr std::string_view kRoutable = "RoCE v2";

std::string name_of(const RdmaDevice& device, const RdmaPort& port) {
  return fmt::format("{}/{}", device.name, port.number);
}

bool any_active(const std::vector<RdmaDevice>& devices) {
  return std::ranges::any_of(devices, [](const RdmaDevice& device) {
    return std::ranges::any_of(device.ports, host::is_active);
  });
}

void check_port(const RdmaDevice& device, const RdmaPort& port, bool others_active,
                Checks& checks) {
  Check check{.id = "rdma.port",
              .subject = name_of(device, port),
              .found = fmt::format("{}, {}, {}", port.state.value_or("?"),
                                   port.physical.value_or("?"), port.rate.value_or("?")),
              .wanted = "ACTIVE",
              .why = "only an active port carries anything"};
  if (!port.state) {
    check.status = Status::Unknown;
    check.next_step = fmt::format("ibstat {}", device.name);
  } else if (port.state == "INIT" && !is_ethernet(port)) {
    check.status = Status::Critical;
    check.why = "the cable is fine, but no subnet manager has given this port an address";
    check.next_step = "systemctl start opensm  # on one host, or the subnet manager of the switch";
  } else if (!is_active(port)) {
    check.status = others_active ? Status::Info : Status::Warning;
    check.why = others_active ? "not in use; other ports are active"
                              : "no RDMA port of this host is active: jobs fall back to TCP";
    check.next_step = port.netdev ? fmt::format("ip link set {} up", *port.netdev)
                                  : fmt::format("ibstat {}", device.name);
  }
  checks.push_back(std::move(check));
}

// InfiniBand runs four lanes; fewer are a bad cable or connector. Ethernet's rate says nothing
// here.
void check_width(const RdmaDevice& device, const RdmaPort& port, Checks& checks) {
  if (is_ethernet(port) || !is_active(port) || !port.rate) {
    return;
  }
  const bool narrow =
      port.rate->find("(1X") != std::string::npos || port.rate->find("(2X") != std::string::npos;
  checks.push_back({.id = "rdma.width",
                    .status = narrow ? Status::Warning : Status::Pass,
                    .subject = name_of(device, port),
                    .found = *port.rate,
                    .wanted = "4X",
                    .why = "a link with fewer lanes carries proportionally less",
                    .next_step = "reseat or change the cable; iblinkinfo shows the other end"});
}

bool is_of_first_version(const RdmaGid& gid) {
  return gid.type != kRoutable && !gid.address.is_link_local();
}

void judge_unusable(const RdmaDevice& device, const RdmaPort& port, Check& check) {
  if (std::ranges::any_of(port.gids, is_of_first_version)) {
    check.status = Status::Warning;
    check.found = "RoCE v1 alone";
    check.why =
        "RoCE v1 is not IP: no router passes it on, and no switch marks it instead of "
        "dropping it";
    check.next_step = fmt::format(
        "cma_roce_mode -d {} -p {} -m 2  # where that fails, RoCE v2 is a "
        "setting of the firmware or driver",
        device.name, port.number);
    return;
  }
  check.status = Status::Critical;
  check.found =
      port.gids.empty() ? "no GID" : fmt::format("{} GIDs, none usable", port.gids.size());
  check.why = "without an address that is more than link-local, connections beyond one switch fail";
  check.next_step =
      fmt::format("ip address add ADDRESS/PREFIX dev {}", port.netdev.value_or("INTERFACE"));
}

void check_gid(const RdmaDevice& device, const RdmaPort& port, Checks& checks) {
  Check check{.id = "rdma.gid",
              .subject = name_of(device, port),
              .wanted = "RoCE v2 over an IPv4 or a global IPv6 address",
              .why =
                  "the GID decides which address a connection comes from, and whether routers "
                  "and switches handle it as IP"};
  const RdmaGid* usable = usable_gid(port);
  const bool types_known =
      std::ranges::all_of(port.gids, [](const RdmaGid& gid) { return gid.type.has_value(); });
  if (usable != nullptr) {
    check.found = fmt::format("index {}: {}", usable->index, usable->address.unmapped().text());
    check.status = usable->index == 0 ? Status::Pass : Status::Info;
    check.why = "NCCL before 2.21 and many tests take index 0, which is another address here";
    check.next_step = fmt::format("export NCCL_IB_GID_INDEX={}", usable->index);
  } else if (!types_known) {
    check.status = Status::Unknown;
    check.next_step = fmt::format("show_gids {}", device.name);
  } else {
    judge_unusable(device, port, check);
  }
  checks.push_back(std::move(check));
}

bool serves(const RdmaGid& gid) {
  return gid.type == kRoutable && !gid.address.is_link_local() && !gid.address.is_loopback() &&
         !gid.address.is_multicast();
}

std::string words_of(const RdmaGid& gid) {
  return fmt::format("{}{}{}", gid.address.unmapped().text(), gid.type ? ", " : "",
                     gid.type.value_or(""));
}

void check_chosen_gid(const RdmaDevice& device, const RdmaPort& port, const std::string& value,
                      Checks& checks) {
  const auto chosen = std::ranges::find_if(
      port.gids, [&](const RdmaGid& gid) { return std::to_string(gid.index) == value; });
  const bool right = value == "-1" || (chosen != port.gids.end() && serves(*chosen));
  const RdmaGid* usable = usable_gid(port);
  checks.push_back(
      {.id = "rdma.gid-choice",
       .status = right ? Status::Pass : Status::Critical,
       .subject = name_of(device, port),
       .found = fmt::format("NCCL_IB_GID_INDEX={}: {}", value,
                            chosen == port.gids.end() ? "no such GID" : words_of(*chosen)),
       .wanted = usable == nullptr ? "" : fmt::format("{}: {}", usable->index, words_of(*usable)),
       .why = "NCCL takes exactly this GID: with another type than its peers', or a link-local "
              "one, connections time out (ibv_modify_qp, completions with error 12)",
       .next_step = usable == nullptr ? "unset NCCL_IB_GID_INDEX"
                                      : fmt::format("export NCCL_IB_GID_INDEX={}", usable->index)});
}

// The device takes its MTU from the interface, but not always when that changes.
std::optional<int> mtu_of(const RdmaPort& port) {
  if (port.active_mtu_bytes) {
    return port.active_mtu_bytes;
  }
  return port.netdev_mtu_bytes ? std::optional(host::roce_mtu_bytes(*port.netdev_mtu_bytes))
                               : std::nullopt;
}

void judge_mtu(const RdmaPort& port, int mtu, Check& check) {
  constexpr int kGood = 4096;
  const std::string netdev = port.netdev.value_or("INTERFACE");
  const int possible = port.netdev_mtu_bytes ? host::roce_mtu_bytes(*port.netdev_mtu_bytes) : mtu;
  check.found = std::to_string(mtu);
  if (port.netdev_mtu_bytes) {
    check.found += fmt::format(", {} {}'s MTU is {}", mtu < possible ? "though" : "as", netdev,
                               *port.netdev_mtu_bytes);
  }
  if (mtu >= kGood) {
    return;
  }
  if (mtu < possible) {
    check.status = Status::Warning;
    check.wanted = std::to_string(possible);
    check.next_step = fmt::format("ip link set {0} down; ip link set {0} up", netdev);
    return;
  }
  check.status = mtu < 1024 ? Status::Warning : Status::Info;
  check.next_step =
      fmt::format("ip link set {} mtu 9000  # on every host and switch of the path", netdev);
}

void check_mtu(const RdmaDevice& device, const RdmaPort& port, Checks& checks) {
  Check check{.id = "rdma.mtu",
              .subject = name_of(device, port),
              .wanted = "4096",
              .why =
                  "82 bytes frame every packet: at 4096 98.0 % of the line is data, at 1024 "
                  "92.6 %"};
  if (const std::optional<int> mtu = mtu_of(port)) {
    judge_mtu(port, *mtu, check);
  } else {
    check.status = Status::Unknown;
    check.next_step = fmt::format("ibv_devinfo -d {}", device.name);
  }
  checks.push_back(std::move(check));
}

void check_roce(const RdmaDevice& device, const RdmaPort& port, const host::Network& network,
                const host::Process& process, Checks& checks) {
  if (!is_ethernet(port) || !is_active(port)) {
    return;
  }
  check_gid(device, port, checks);
  if (const std::optional<std::string> chosen = variable(process, "NCCL_IB_GID_INDEX")) {
    check_chosen_gid(device, port, *chosen, checks);
  }
  check_mtu(device, port, checks);
  check_flow_control(device, port, network, checks);
}

}  // namespace

const RdmaGid* usable_gid(const RdmaPort& port) {
  const auto mapped = std::ranges::find_if(port.gids, [](const RdmaGid& gid) {
    return serves(gid) && gid.address.is_v4_mapped() && !gid.address.unmapped().is_link_local();
  });
  if (mapped != port.gids.end()) {
    return &*mapped;
  }
  const auto six = std::ranges::find_if(
      port.gids, [](const RdmaGid& gid) { return serves(gid) && !gid.address.is_v4_mapped(); });
  return six == port.gids.end() ? nullptr : &*six;
}

void check_rdma(const std::vector<RdmaDevice>& devices, const host::Network& network,
                const host::Process& process, Checks& checks) {
  if (devices.empty()) {
    checks.push_back({.id = "rdma.port",
                      .status = Status::Info,
                      .subject = "host",
                      .found = "no RDMA device",
                      .why = "jobs use TCP; that is enough up to about 25 Gb/s per flow",
                      .next_step = "lspci -nn | grep -iE 'mellanox|infiniband|e810|bcm57'"});
    return;
  }
  const bool active = any_active(devices);
  for (const RdmaDevice& device : devices) {
    for (const RdmaPort& port : device.ports) {
      check_port(device, port, active, checks);
      check_width(device, port, checks);
      check_roce(device, port, network, process, checks);
    }
  }
}

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
    check.why = "a pause stops all traffic of the port, not only RoCE's class";
  } else if (pfc) {
    check.status = Status::Warning;
    check.found = "PFC off, pause frames off";
    check.next_step = fmt::format(
        "dcb pfc set dev {} prio-pfc 3:on  # the same on every switch of the path, and RoCE in "
        "priority 3",
        nic.name);
  } else {
    check.status = Status::Unknown;
    check.next_step = fmt::format("dcb pfc show dev {0} || mlnx_qos -i {0}", nic.name);
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
                  "RoCE retransmits many packets for one lost packet: a full queue should slow the "
                  "sender down, not drop packets"};
  judge(*nic, check);
  checks.push_back(std::move(check));
}

namespace {

std::string size_text(std::int64_t bytes) {
  return bytes == host::kUnlimited ? "unlimited" : math::format_bytes(static_cast<double>(bytes));
}

}  // namespace

void check_locked_memory(const host::Process& process, bool has_rdma, Checks& checks) {
  Check check{.id = "memory.lock",
              .subject = "host",
              .wanted = has_rdma ? "unlimited" : "",
              .why =
                  "RDMA registers its buffers, which locks them: beyond the limit "
                  "ibv_reg_mr fails with 'cannot allocate memory'"};
  if (!process.locked_memory_bytes) {
    check.status = has_rdma ? Status::Unknown : Status::Info;
    check.next_step = "ulimit -l";
  } else {
    check.found = size_text(process.locked_memory_bytes->soft);
    const bool enough = process.locked_memory_bytes->soft == host::kUnlimited ||
                        has(process, host::Capability::IpcLock).value_or(false);
    if (has_rdma && !enough) {
      check.status = Status::Warning;
      check.next_step =
          "printf '* - memlock unlimited\\n' > /etc/security/limits.d/rdma.conf  # log in again; "
          "LimitMEMLOCK=infinity for a systemd unit such as slurmd";
    }
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::checks
