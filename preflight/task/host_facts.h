// What an agent reports of its own host: the judgement compares measurements with it. The agent
// writes it, the coordinator reads it and checks all of it. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/documents/bounds.h"
#include "base/json/fields.h"

namespace chokepoint::preflight {

// An agent reports no more, and the coordinator accepts no more.
inline constexpr std::size_t kMaxInterfaces = 1024;
inline constexpr std::size_t kMaxAddresses = 256;  // of one interface
inline constexpr std::size_t kMaxRdmaPorts = 1024;

struct InterfaceFacts {
  std::string name = {};
  std::vector<std::string> addresses = {};  // without prefix lengths
  std::vector<std::string> networks = {};   // "10.0.0.0/24", one for each address
  std::optional<std::int64_t> mtu = {};
  std::optional<double> speed_mbps = {};  // nothing where the driver invents one
  std::optional<double> pci_mbps = {};    // what the narrowest hop of its slot carries
  bool is_port = false;                   // real hardware, or a function of it
  bool is_up = false;

  bool operator==(const InterfaceFacts&) const = default;
};

struct RdmaPortFacts {
  std::string device = {};
  int port = 1;
  std::string interface = {};  // its network interface; empty where there is none
  std::optional<double> speed_mbps = {};
  bool is_active = false;

  bool operator==(const RdmaPortFacts&) const = default;
};

struct HostFacts {
  std::string host = {};  // as it calls itself
  std::vector<InterfaceFacts> interfaces = {};
  std::vector<RdmaPortFacts> rdma = {};
  std::optional<std::int64_t> receive_buffer_bytes = {};  // the largest that TCP gives by itself
  std::optional<std::int64_t> send_buffer_bytes = {};
  std::string congestion_control = {};
  std::optional<std::int64_t> cpus = {};
  std::optional<std::int64_t> gpus = {};
  // Its time of day less its monotonic clock, to compare hosts whose monotonic clocks were
  // compared.
  std::optional<double> wall_less_monotonic_ms = {};
  bool has_gloo = false;  // 'probe collective --backend gloo' would work

  bool operator==(const HostFacts&) const = default;
};

}  // namespace chokepoint::preflight

namespace chokepoint {

template <>
struct Fields<preflight::InterfaceFacts> {
  using F = preflight::InterfaceFacts;
  static constexpr double kMaxMbps = 1e9;  // a petabit a second
  static constexpr FieldList kList{
      field("name", &F::name, "the interface").up_to_bytes(64),
      field("addresses", &F::addresses, "its IP addresses, without prefix lengths")
          .up_to_items(preflight::kMaxAddresses)
          .up_to_bytes(128),
      field("networks", &F::networks, "the network of each address: 10.0.0.0/24")
          .up_to_items(preflight::kMaxAddresses)
          .up_to_bytes(128),
      field("mtu", &F::mtu, "bytes").between(0, 1LL << 40),
      field("speed_mbps", &F::speed_mbps,
            "Mb/s that one flow gets over the link; null where the driver invents a speed")
          .between(0, kMaxMbps),
      field("pci_mbps", &F::pci_mbps, "Mb/s that the narrowest PCIe link up to the NIC carries")
          .between(0, kMaxMbps),
      field("is_port", &F::is_port, "whether it is a port of a NIC, or a function of one"),
      field("is_up", &F::is_up, "whether it carries packets")};
  static const char* wrong(const F& facts) {
    return facts.networks.size() == facts.addresses.size() ? nullptr : "a network for each address";
  }
};

template <>
struct Fields<preflight::RdmaPortFacts> {
  using F = preflight::RdmaPortFacts;
  static constexpr FieldList kList{
      field("device", &F::device, "the RDMA device").up_to_bytes(64),
      field("port", &F::port, "the number of its port").between(0, 255),
      field("interface", &F::interface, "its network interface; empty where there is none")
          .up_to_bytes(64),
      field("speed_mbps", &F::speed_mbps, "speed in Mb/s").between(0, 1e9),
      field("is_active", &F::is_active, "whether the port is active")};
};

template <>
struct Fields<preflight::HostFacts> {
  using F = preflight::HostFacts;
  static constexpr double kMaxBytes = 1LL << 40;
  static constexpr double kMaxDevices = 1 << 20;
  static constexpr FieldList kList{
      field("host", &F::host, "the host's own name").up_to_bytes(255),
      field("interfaces", &F::interfaces, "its network interfaces")
          .up_to_items(preflight::kMaxInterfaces),
      field("rdma", &F::rdma, "its RDMA ports").up_to_items(preflight::kMaxRdmaPorts),
      field("receive_buffer_bytes", &F::receive_buffer_bytes,
            "the largest receive buffer that the kernel gives a TCP connection by itself")
          .between(0, kMaxBytes),
      field("send_buffer_bytes", &F::send_buffer_bytes,
            "the largest send buffer that the kernel gives a TCP connection by itself")
          .between(0, kMaxBytes),
      field("congestion_control", &F::congestion_control,
            "TCP's congestion control, as the kernel names it")
          .up_to_bytes(64),
      field("cpus", &F::cpus, "processors that are online").between(0, kMaxDevices),
      field("gpus", &F::gpus, "number of GPUs").between(0, kMaxDevices),
      field("wall_less_monotonic_ms", &F::wall_less_monotonic_ms,
            "milliseconds that the time of day is ahead of the monotonic clock")
          .between(-documents::kMaxClockMs, documents::kMaxClockMs),
      field("has_gloo", &F::has_gloo, "whether 'probe collective --backend gloo' works there")};
};

}  // namespace chokepoint
