// Nearness by sysfs's ancestors held against hwloc's tree of bridges, for every pair of devices of
// every made-up host. hwloc reads bus numbers in the configuration space, which is written here.
#include <gmock/gmock.h>
#include <hwloc.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "probe/pcie/slots.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices";

int bus_of(const std::string& address) { return std::stoi(address.substr(5, 2), nullptr, 16); }

// The busses that a bridge leads to: {first, last}.
std::pair<int, int> busses_below(const sys::Root& root, const std::string& bridge) {
  std::pair<int, int> busses{255, 0};
  for (const std::string& address : root.list(kDevices)) {
    const auto path = root.resolve(std::string(kDevices) + "/" + address).value_or("");
    if (path.find("/" + bridge + "/") != std::string::npos) {
      busses.first = std::min(busses.first, bus_of(address));
      busses.second = std::max(busses.second, bus_of(address));
    }
  }
  return busses;
}

void write_config(const fakes::HostTree& tree, const std::string& address) {
  const sys::Root root = tree.root();
  const std::string folder = root.resolve(std::string(kDevices) + "/" + address).value_or("");
  const auto number = [&](const char* file) {
    return std::stoul(root.text(folder + file).value_or("0"), nullptr, 16);
  };
  const auto byte = [](unsigned long value) { return static_cast<char>(value & 0xff); };
  std::string config(64, '\0');
  config[0] = byte(number("/vendor"));
  config[1] = byte(number("/vendor") >> 8);
  config[2] = byte(number("/device"));
  config[3] = byte(number("/device") >> 8);
  config[10] = byte(number("/class") >> 8);
  config[11] = byte(number("/class") >> 16);
  if (number("/class") >> 8 == 0x0604) {
    const auto [first, last] = busses_below(root, address);
    config[0x0e] = 1;
    config[0x18] = static_cast<char>(bus_of(address));
    config[0x19] = static_cast<char>(first);
    config[0x1a] = static_cast<char>(last);
  }
  tree.write(folder + "/config", config);
}

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

Topology load(const fakes::HostTree& tree) {
  setenv("HWLOC_FSROOT", tree.root().folder().c_str(), 1);
  setenv("HWLOC_THISSYSTEM", "0", 1);
  // Some machines have hwloc's plugins, most do not, and libpciaccess never frees its names.
  setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
  hwloc_topology_t topology = nullptr;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  unsetenv("HWLOC_FSROOT");
  unsetenv("HWLOC_THISSYSTEM");
  return Topology(topology);
}

// The bridges above a device, from the host bridge down.
std::vector<hwloc_obj_t> bridges_above(const Topology& topology, const std::string& address) {
  std::vector<hwloc_obj_t> bridges;
  hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology.get(), address.c_str());
  for (; device != nullptr; device = device->parent) {
    if (device->type == HWLOC_OBJ_BRIDGE) {
      bridges.insert(bridges.begin(), device);
    }
  }
  return bridges;
}

std::string_view by_hwloc(const Topology& topology, const std::string& one,
                          const std::string& other) {
  const auto above_one = bridges_above(topology, one);
  const auto above_other = bridges_above(topology, other);
  if (above_one.empty() || above_other.empty()) {
    return "not found";
  }
  const auto [end, _] = std::ranges::mismatch(above_one, above_other);
  const auto common = static_cast<std::size_t>(end - above_one.begin());
  const std::size_t below = std::max(above_one.size(), above_other.size()) - common;
  return common == 0 ? "between host bridges" : common == 1 ? "PHB" : below <= 1 ? "PIX" : "PXB";
}

std::string_view by_sysfs(const Affinity& pair) {
  const Nearness nearness = pair.nearness.value_or(Nearness::Sys);
  return nearness >= Nearness::Node ? "between host bridges" : name_of(nearness);
}

class Hwloc : public testing::TestWithParam<const char*> {};

TEST_P(Hwloc, SaysTheSame) {
  const auto tree = fakes::HostTree::from_fixture(GetParam());
  for (const std::string& address : tree.root().list(kDevices)) {
    write_config(tree, address);
  }
  const Topology topology = load(tree);
  const Slots slots = read_slots(tree.root(), host::read_recorded_gpus(tree.root()));
  const auto pairs = affinity_of(slots);
  ASSERT_FALSE(pairs.empty());
  for (const Affinity& pair : pairs) {
    const std::string& one = slots.devices[pair.one].address;
    const std::string& other = slots.devices[pair.other].address;
    EXPECT_EQ(by_sysfs(pair), by_hwloc(topology, one, other)) << one << " " << other;
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, Hwloc,
                         testing::Values("pcie-switch", "pcie-two-sockets", "pcie-vm",
                                         "bond-and-rails", "e810-gen3-x8"));

}  // namespace
}  // namespace chokepoint::probe::pcie
