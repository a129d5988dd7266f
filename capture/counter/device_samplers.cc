// Samplers of PCIe links and RDMA ports.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host/kernel_text.h"
#include "base/host/pci.h"
#include "base/host/rdma_counters.h"
#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/sampler.h"

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

// From sysfs: speed and width of the narrowest PCIe hop between a NIC or GPU and its root port. A
// GPU slows its link down when it is idle, so what was seen while the card was busy is a series of
// its own; the best link ever seen is the largest row.
class PcieSampler final : public Sampler {
 public:
  explicit PcieSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override {
    if (found_ns_ == INT64_MIN || moment.now_ns - found_ns_ >= kFindAgainNs) {
      find();
      found_ns_ = moment.now_ns;
    }
    for (const Card& card : cards_) {
      read(card, moment.now_ns, sink);
    }
  }

 private:
  struct Card {
    std::string subject = {};  // an interface's name, a GPU's address
    std::string address = {};
    bool is_nic = false;
  };

  void find() {
    cards_.clear();
    find_nics();
    find_gpus();
  }

  void find_nics() {
    for (const std::string& name : root_.list(kInterfacesFolder)) {
      const auto device = root_.resolve(fmt::format("{}/{}/device", kInterfacesFolder, name));
      if (const auto address = device ? host::pci_address_in(*device) : std::nullopt) {
        cards_.push_back({name, *address, true});
      }
    }
  }

  // Display controllers (0x03) and accelerators (0x12) of NVIDIA and AMD.
  void find_gpus() {
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

  void read(const Card& card, std::int64_t now_ns, Sink& sink) const {
    const std::optional<host::PciDevice> device = host::read_pci_device(root_, card.address);
    const host::PciHop* hop = device ? host::narrowest_hop(*device) : nullptr;
    if (hop == nullptr) {
      return;
    }
    const std::string source = fmt::format("{}/{}", kDevices, hop->address);
    const auto see = [&](std::string_view name, double value) {
      sink.level({std::string(name), card.subject, source}).see(now_ns, value);
    };
    see(record::kPcieSpeed, *hop->current.speed_gts);
    see(record::kPcieWidth, *hop->current.width);
    see(record::kPcieCeiling, host::ceiling_mbps(*device).value_or(0));
    if (is_busy(card.subject, card.is_nic, sink)) {
      see(record::kPcieBusySpeed, *hop->current.speed_gts);
      see(record::kPcieBusyWidth, *hop->current.width);
    }
  }

  sys::Root root_;
  std::int64_t found_ns_ = INT64_MIN;
  std::vector<Card> cards_;
};

constexpr std::string_view kRdmaFolder = "/sys/class/infiniband";

std::string unit_name(std::string_view common) {
  return common.ends_with("_bytes") ? "bytes" : common.ends_with("_packets") ? "packets" : "count";
}

// Counters of RDMA ports (base/host/rdma_counters.h) by common names: all that ever change.
class RdmaSampler final : public Sampler {
 public:
  explicit RdmaSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override {
    if (found_ns_ == INT64_MIN || moment.now_ns - found_ns_ >= kFindAgainNs) {
      find(sink);
      found_ns_ = moment.now_ns;
    }
    for (const Source& source : sources_) {
      if (const std::optional<std::uint64_t> raw = host::read_raw(root_, source.read)) {
        source.counter->see(moment.now_ns, *raw * source.read.unit);
      }
    }
  }

 private:
  struct Source {
    host::RdmaCounter read = {};
    Counter* counter = nullptr;
  };

  void find(Sink& sink) {
    sources_.clear();
    for (const std::string& device : root_.list(kRdmaFolder)) {
      for (const std::string& port : root_.list(fmt::format("{}/{}/ports", kRdmaFolder, device))) {
        if (const std::optional<std::int64_t> number = host::number_of(port)) {
          add_series(host::find_rdma_counters(root_, device, static_cast<int>(*number)),
                     fmt::format("{}/{}", device, port), sink);
        }
      }
      add_series(host::find_rdma_counters(root_, device), device, sink);
    }
  }

  // Queue pairs' counters are 32 bits wide on some cards, whatever the file shows. Counters of
  // data, which count in words, are 64 bits wide or stop at their maximum.
  void add_series(std::vector<host::RdmaCounter> found, const std::string& subject, Sink& sink) {
    for (host::RdmaCounter& each : found) {
      Counter& counter =
          sink.counter({fmt::format("{}{}", record::kRdmaPrefix, each.name), subject,
                        each.files.front(), unit_name(each.name)},
                       FirstRow::OnceChanged, each.unit > 1 ? Wrap::Never : Wrap::At32Bits);
      sources_.push_back({std::move(each), &counter});
    }
  }

  sys::Root root_;
  std::int64_t found_ns_ = INT64_MIN;
  std::vector<Source> sources_;
};

}  // namespace

OwnedSampler pcie_sampler(const sys::Root& root) { return std::make_unique<PcieSampler>(root); }

OwnedSampler rdma_sampler(const sys::Root& root) { return std::make_unique<RdmaSampler>(root); }

}  // namespace chokepoint::capture::counter
