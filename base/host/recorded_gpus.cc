#include <nlohmann/json.hpp>

#include "base/host/gpu_state.h"
#include "base/host/pci.h"

namespace chokepoint::host {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPath = "/chokepoint/nvml.json";
constexpr int kNewest = 7;  // generation
constexpr int kWidest = 32;

std::optional<std::int64_t> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer()
             ? std::optional(found->get<std::int64_t>())
             : std::nullopt;
}

// Nothing for what no link, no state and no share can be.
std::optional<int> within(const Json& object, const char* key, int least, int most) {
  const std::optional<std::int64_t> number = number_of(object, key);
  return number && *number >= least && *number <= most ? std::optional(static_cast<int>(*number))
                                                       : std::nullopt;
}

std::optional<std::string> text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

GpuState state_of(const Json& gpu) {
  return {.address = pci_address_of(text_of(gpu, "bus_id").value_or("")),
          .name = text_of(gpu, "name"),
          .generation = within(gpu, "pcie_generation", 1, kNewest),
          .max_generation = within(gpu, "pcie_max_generation", 1, kNewest),
          .width = within(gpu, "pcie_width", 1, kWidest),
          .max_width = within(gpu, "pcie_max_width", 1, kWidest),
          .performance_state = within(gpu, "performance_state", 0, 15),
          .utilisation_percent = within(gpu, "utilization_percent", 0, 100),
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
    GpuState state = gpu.is_object() ? state_of(gpu) : GpuState();
    if (is_pci_address(state.address)) {
      states.gpus.push_back(std::move(state));
    }
  }
  return states;
}

Result<GpuStates> read_gpu_states(const sys::Root& root) {
  return root.is_live() ? ask_nvml() : read_recorded_gpus(root);
}

}  // namespace chokepoint::host
