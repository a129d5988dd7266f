#include "base/host/nvml_link.h"

#include <utility>

namespace chokepoint::host {

Result<NvmlLinks> NvmlLinks::open(const std::string& library) {
  auto opened = sys::Library::open(library);
  if (!opened) {
    return fail(std::move(opened.error()));
  }
  auto* init = opened->function<Return()>("nvmlInit_v2");
  auto* shutdown = opened->function<Return()>("nvmlShutdown");
  NvmlLinks links(std::move(*opened));
  if (init == nullptr || shutdown == nullptr || !links.find()) {
    return fail(ErrorKind::Unsupported, "NVML", library, "lacks functions of driver 384");
  }
  if (const Return code = init(); code != 0) {
    return fail(ErrorKind::Io, "NVML", library, "error " + std::to_string(code), "nvidia-smi");
  }
  links.is_open_ = true;
  return links;
}

bool NvmlLinks::find() {
  by_address_ = library_.function<Return(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  generation_ = library_.function<GetUnsigned>("nvmlDeviceGetCurrPcieLinkGeneration");
  width_ = library_.function<GetUnsigned>("nvmlDeviceGetCurrPcieLinkWidth");
  replays_ = library_.function<GetUnsigned>("nvmlDeviceGetPcieReplayCounter");
  return by_address_ != nullptr && generation_ != nullptr && width_ != nullptr;
}

NvmlLinks::NvmlLinks(NvmlLinks&& other) noexcept
    : library_(std::move(other.library_)),
      by_address_(other.by_address_),
      generation_(other.generation_),
      width_(other.width_),
      replays_(other.replays_),
      is_open_(std::exchange(other.is_open_, false)) {}

NvmlLinks::~NvmlLinks() {
  if (is_open_) {
    library_.function<Return()>("nvmlShutdown")();
  }
}

LinkNow NvmlLinks::read(const std::string& address) const {
  Device device = nullptr;
  LinkNow now;
  if (by_address_(address.c_str(), &device) != 0) {
    return now;
  }
  unsigned value = 0;
  if (generation_(device, &value) == 0) {
    now.link.speed_gts = speed_of_generation(static_cast<int>(value));
  }
  if (width_(device, &value) == 0 && value > 0 && value <= 32) {
    now.link.width = static_cast<int>(value);
  }
  if (replays_ != nullptr && replays_(device, &value) == 0) {
    now.replays = value;
  }
  return now;
}

}  // namespace chokepoint::host
