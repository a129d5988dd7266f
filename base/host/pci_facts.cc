#include <fmt/format.h>

#include "base/host/pci.h"

namespace chokepoint::host {
namespace {

class Writer {
 public:
  Writer(std::string address, Facts& facts) : address_(std::move(address)), facts_(facts) {}

  template <class T>
  void add(const char* key, const std::optional<T>& value, const char* file) {
    if (value) {
      facts_.push_back({"pci", address_, key, fmt::format("{}", *value),
                        fmt::format("/sys/bus/pci/devices/{}/{}", address_, file)});
    }
  }

 private:
  std::string address_;
  Facts& facts_;
};

void append_hop(const PciHop& hop, Facts& facts) {
  Writer writer(hop.address, facts);
  writer.add("speed_gts", hop.current.speed_gts, "current_link_speed");
  writer.add("width", hop.current.width, "current_link_width");
  writer.add("max_speed_gts", hop.maximum.speed_gts, "max_link_speed");
  writer.add("max_width", hop.maximum.width, "max_link_width");
  writer.add("payload_bytes", hop.payload_bytes, "config");
  writer.add("errors_correctable", hop.errors.correctable, "aer_dev_correctable");
  writer.add("errors_nonfatal", hop.errors.nonfatal, "aer_dev_nonfatal");
  writer.add("errors_fatal", hop.errors.fatal, "aer_dev_fatal");
}

}  // namespace

void append_facts(const PciDevice& device, Facts& facts) {
  Writer writer(device.address, facts);
  writer.add("vendor", device.vendor, "vendor");
  writer.add("device", device.device, "device");
  writer.add("class", device.class_code, "class");
  writer.add("driver", device.driver, "driver");
  writer.add("numa_node", device.numa_node, "numa_node");
  writer.add("local_cpus", device.local_cpus, "local_cpulist");
  std::string path;
  for (const PciHop& hop : device.path) {
    path += (path.empty() ? "" : " ") + hop.address;
    append_hop(hop, facts);
  }
  writer.add("path", std::optional(path), "");
}

}  // namespace chokepoint::host
