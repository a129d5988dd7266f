#include "capture/counter/pcie_sampler.h"

#include <fmt/format.h>

#include "base/record/names.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices";

bool is_busy(const std::string& subject, bool is_nic, const Sink& sink) {
  if (is_nic) {
    return sink.growth_per_s(record::kNicSentBytes, subject).value_or(0) +
               sink.growth_per_s(record::kNicReceivedBytes, subject).value_or(0) >=
           kBusyBytesPerS;
  }
  return sink.latest_share(record::kGpuUtilization, subject).value_or(0) >= kBusyPercent;
}

}  // namespace

void PcieSampler::find_nics() {
  for (const std::string& name : root_.list(kInterfacesFolder)) {
    const auto device = root_.resolve(fmt::format("{}/{}/device", kInterfacesFolder, name));
    if (const auto address = device ? host::pci_address_in(*device) : std::nullopt) {
      cards_.push_back({name, *address, true});
    }
  }
}

// Display controllers of those who make GPUs for computing: NVIDIA, AMD.
void PcieSampler::find_gpus() {
  for (const std::string& address : root_.list(kDevices)) {
    const std::string folder = fmt::format("{}/{}", kDevices, address);
    const std::string vendor = root_.text(folder + "/vendor").value_or("");
    const std::string kind = root_.text(folder + "/class").value_or("");
    if ((vendor == "0x10de" || vendor == "0x1002") &&
        (kind.starts_with("0x03") || kind.starts_with("0x12"))) {
      cards_.push_back({address, address, false});
    }
  }
}

void PcieSampler::find() {
  cards_.clear();
  find_nics();
  find_gpus();
}

void PcieSampler::read(const Card& card, std::int64_t now_ns, Sink& sink) const {
  const std::optional<host::PciDevice> device = host::read_pci_device(root_, card.address);
  const host::PciHop* hop = device ? host::narrowest_hop(*device) : nullptr;
  if (hop == nullptr) {
    return;
  }
  const std::string source = fmt::format("{}/{}", kDevices, hop->address);
  const auto see = [&](std::string_view name, const char* unit, double value) {
    sink.level({std::string(name), card.subject, unit, source}).see(now_ns, value);
  };
  see(record::kPcieSpeed, "gts", *hop->current.speed_gts);
  see(record::kPcieWidth, "lanes", *hop->current.width);
  see(record::kPcieCeiling, "mbps", host::ceiling_mbps(*device).value_or(0));
  if (is_busy(card.subject, card.is_nic, sink)) {
    see(record::kPcieBusySpeed, "gts", *hop->current.speed_gts);
    see(record::kPcieBusyWidth, "lanes", *hop->current.width);
  }
}

void PcieSampler::sample(const Moment& moment, Sink& sink) {
  if (found_ns_ == INT64_MIN || moment.now_ns - found_ns_ >= kFindAgainNs) {
    find();
    found_ns_ = moment.now_ns;
  }
  for (const Card& card : cards_) {
    read(card, moment.now_ns, sink);
  }
}

}  // namespace chokepoint::capture::counter
