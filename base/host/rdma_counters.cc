#include "base/host/rdma_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/host/rdma_counter_names.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kFolder = "/sys/class/infiniband";
constexpr std::string_view kLifespan = "lifespan";  // how long readings are cached, no counter
constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

void find_in(const sys::Root& root, const std::string& folder, std::vector<RdmaCounter>& counters) {
  for (const std::string& file : root.list(folder)) {
    if (file == kLifespan) {
      continue;
    }
    const RdmaCounterName name = rdma_counter_name(file);
    const auto known = std::ranges::find(counters, name.common, &RdmaCounter::name);
    std::string path = fmt::format("{}/{}", folder, file);
    if (known == counters.end()) {
      counters.push_back({std::string(name.common), {std::move(path)}, name.unit});
    } else if (name.is_part && known->files.front().starts_with(folder)) {
      known->files.push_back(std::move(path));
    }
  }
}

}  // namespace

std::vector<RdmaCounter> find_rdma_counters(const sys::Root& root, const std::string& device,
                                            int port) {
  std::vector<RdmaCounter> counters;
  for (const std::string_view kind : {"counters", "hw_counters"}) {
    find_in(root, fmt::format("{}/{}/ports/{}/{}", kFolder, device, port, kind), counters);
  }
  return counters;
}

std::vector<RdmaCounter> find_rdma_counters(const sys::Root& root, const std::string& device) {
  std::vector<RdmaCounter> counters;
  find_in(root, fmt::format("{}/{}/hw_counters", kFolder, device), counters);
  return counters;
}

std::optional<std::uint64_t> read_raw(const sys::Root& root, const RdmaCounter& counter) {
  std::uint64_t sum = 0;
  for (const std::string& file : counter.files) {
    const std::optional<std::int64_t> value = root.number(file);
    if (!value || *value < 0) {
      return std::nullopt;
    }
    sum += static_cast<std::uint64_t>(*value);
  }
  return sum;
}

std::optional<std::uint64_t> growth_of(std::uint64_t before, std::uint64_t after) {
  if (after >= before) {
    return after - before;
  }
  const bool has_wrapped = before < kWrap && before - after > kWrap / 2;
  return has_wrapped ? std::optional(after + kWrap - before) : std::nullopt;
}

}  // namespace chokepoint::host
