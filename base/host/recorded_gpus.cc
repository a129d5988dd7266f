#include <nlohmann/json.hpp>

#include "base/host/gpu_state.h"

namespace chokepoint::host {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPath = "/chokepoint/nvml.json";

std::optional<std::int64_t> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer()
             ? std::optional(found->get<std::int64_t>())
             : std::nullopt;
}

std::optional<int> small_of(const Json& object, const char* key) {
  const std::optional<std::int64_t> number = number_of(object, key);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<std::string> text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

GpuState state_of(const Json& gpu) {
  return {.address = pci_address_of(text_of(gpu, "bus_id").value_or("")),
          .name = text_of(gpu, "name"),
          .generation = small_of(gpu, "pcie_generation"),
          .max_generation = small_of(gpu, "pcie_max_generation"),
          .width = small_of(gpu, "pcie_width"),
          .max_width = small_of(gpu, "pcie_max_width"),
          .performance_state = small_of(gpu, "performance_state"),
          .utilisation_percent = small_of(gpu, "utilization_percent"),
          .replays = number_of(gpu, "pcie_replays")};
}

}  // namespace

Result<GpuStates> read_recorded_gpus(const sys::Root& root) {
  const Result<std::string> text = root.read(kPath);
  if (!text) {
    return std::unexpected(text.error());
  }
  const Json document = Json::parse(*text, nullptr, false);
  if (!document.is_object() || !document.contains("gpus") || !document["gpus"].is_array()) {
    return fail(ErrorKind::Malformed, "read", kPath, "not an object with an array \"gpus\"");
  }
  GpuStates states{.source = std::string(kPath),
                   .driver_version = text_of(document, "driver_version"),
                   .gpus = {}};
  for (const Json& gpu : document["gpus"]) {
    if (gpu.is_object()) {
      states.gpus.push_back(state_of(gpu));
    }
  }
  return states;
}

Result<GpuStates> read_gpu_states(const sys::Root& root) {
  return root.is_live() ? ask_nvml() : read_recorded_gpus(root);
}

}  // namespace chokepoint::host
