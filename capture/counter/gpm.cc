#include "capture/counter/gpm.h"

#include <utility>

namespace chokepoint::capture::counter {
namespace {

using nvml::Device;
using nvml::GpmMetric;
using nvml::GpmSample;
using nvml::Return;

constexpr double kMib = 1 << 20;

bool is_supported(const sys::Library& library, Device device) {
  auto* query = library.function<Return(Device, nvml::GpmSupport*)>("nvmlGpmQueryDeviceSupport");
  nvml::GpmSupport support{.version = nvml::kGpmVersion, .is_supported = 0};
  return query != nullptr && query(device, &support) == 0 && support.is_supported != 0;
}

bool allocate(const sys::Library& library, GpmSample& sample) {
  auto* alloc = library.function<Return(GpmSample*)>("nvmlGpmSampleAlloc");
  return alloc != nullptr && alloc(&sample) == 0;
}

std::optional<double> bytes_per_s(const nvml::GpmValue& value) {
  return value.result == 0 ? std::optional(value.value * kMib) : std::nullopt;
}

}  // namespace

std::unique_ptr<Gpm> Gpm::of(const sys::Library& library, Device device) {
  if (!is_supported(library, device)) {
    return nullptr;
  }
  std::unique_ptr<Gpm> gpm(new Gpm(library, device));
  const bool has_room = allocate(library, gpm->earlier_) && allocate(library, gpm->later_);
  if (!has_room || library.function<Return(nvml::GpmRequest*)>("nvmlGpmMetricsGet") == nullptr) {
    return nullptr;
  }
  gpm->has_earlier_ = gpm->take(gpm->earlier_);
  return gpm;
}

Gpm::~Gpm() {
  auto* release = library_.function<Return(GpmSample)>("nvmlGpmSampleFree");
  for (const GpmSample sample : {earlier_, later_}) {
    if (release != nullptr && sample != nullptr) {
      release(sample);
    }
  }
}

bool Gpm::take(GpmSample sample) const {
  auto* get = library_.function<Return(Device, GpmSample)>("nvmlGpmSampleGet");
  return get != nullptr && get(device_, sample) == 0;
}

void Gpm::read(GpuReading& reading) {
  if (!take(later_)) {
    return;
  }
  nvml::GpmRequest& request = *request_;
  request.version = nvml::kGpmVersion;
  request.count = 4;
  request.earlier = earlier_;
  request.later = later_;
  request.values[0].metric = std::to_underlying(GpmMetric::PcieSent);
  request.values[1].metric = std::to_underlying(GpmMetric::PcieReceived);
  request.values[2].metric = std::to_underlying(GpmMetric::NvlinkSent);
  request.values[3].metric = std::to_underlying(GpmMetric::NvlinkReceived);
  auto* get = library_.function<Return(nvml::GpmRequest*)>("nvmlGpmMetricsGet");
  if (has_earlier_ && get(&request) == 0) {
    reading.pcie_sent_bytes_per_s = bytes_per_s(request.values[0]);
    reading.pcie_received_bytes_per_s = bytes_per_s(request.values[1]);
    reading.nvlink_sent_bytes_per_s = bytes_per_s(request.values[2]);
    reading.nvlink_received_bytes_per_s = bytes_per_s(request.values[3]);
  }
  std::swap(earlier_, later_);
  has_earlier_ = true;
}

}  // namespace chokepoint::capture::counter
