#include "base/host/kernel.h"

#include <cstdio>
#include <string_view>

namespace chokepoint::host {
namespace {

constexpr std::string_view kReleasePath = "/proc/sys/kernel/osrelease";
constexpr std::string_view kDistributionPath = "/etc/os-release";
constexpr std::string_view kBootIdPath = "/proc/sys/kernel/random/boot_id";

std::optional<std::string> pretty_name(const std::string& os_release) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  const std::size_t key = os_release.find(kKey);
  if (key == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t start = key + kKey.size();
  std::string name = os_release.substr(start, os_release.find('\n', start) - start);
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
    name = name.substr(1, name.size() - 2);
  }
  return name;
}

}  // namespace

Kernel read_kernel(const sys::Root& root) {
  Kernel kernel;
  kernel.release = root.text(kReleasePath);
  kernel.boot_id = root.text(kBootIdPath);
  if (const std::optional<std::string> os_release = root.text(kDistributionPath)) {
    kernel.distribution = pretty_name(*os_release);
  }
  return kernel;
}

void append_facts(const Kernel& kernel, Facts& facts) {
  const auto add = [&](const char* key, const std::optional<std::string>& value,
                       std::string_view source) {
    if (value) {
      facts.push_back({"kernel", "", key, *value, std::string(source)});
    }
  };
  add("release", kernel.release, kReleasePath);
  add("distribution", kernel.distribution, kDistributionPath);
  add("boot_id", kernel.boot_id, kBootIdPath);
}

std::optional<int> release_number(const Kernel& kernel) {
  int major = 0;
  int minor = 0;
  if (!kernel.release || std::sscanf(kernel.release->c_str(), "%d.%d", &major, &minor) != 2) {
    return std::nullopt;
  }
  return major * 1000 + minor;
}

}  // namespace chokepoint::host
