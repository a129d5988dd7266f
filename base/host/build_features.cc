// What this program was built with, as its headers told when it was compiled.
#include <fmt/core.h>

#include <algorithm>

#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include "base/host/libraries.h"

namespace chokepoint::host {
namespace {

std::string sanitizers() {
#if defined(__SANITIZE_ADDRESS__)
  return "address";
#elif defined(__SANITIZE_THREAD__)
  return "thread";
#else
  return "none";
#endif
}

std::string boost_version() {
  std::string text = BOOST_LIB_VERSION;  // 1_74
  std::ranges::replace(text, '_', '.');
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> build_features() {
  return {{"compiler", __VERSION__},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                              FMT_VERSION % 100)},
          {"sqlite", CHOKEPOINT_SQLITE_VERSION},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
          {"boost", boost_version()},
          {"libmnl", CHOKEPOINT_MNL_VERSION},
          {"sanitizers", sanitizers()}};
}

}  // namespace chokepoint::host
