#include "base/host/libraries.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"
#include "base/sys/library.h"

namespace chokepoint::host {
namespace {

using GetVersion = int(int*);

std::string version_text(int major, int minor, int patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

// "…/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2" below a Python environment's folder.
std::vector<std::string> in_environment(const sys::Root& root, const char* variable) {
  // A program with capabilities of its own must not run what its caller's environment names.
  const char* folder = secure_getenv(variable);
  std::vector<std::string> paths;
  if (folder == nullptr) {
    return paths;
  }
  const std::string libraries = std::string(folder) + "/lib";
  for (const std::string& name : root.list(libraries)) {
    if (name.starts_with("python3")) {
      paths.push_back(
          fmt::format("{}/{}/site-packages/nvidia/nccl/lib/libnccl.so.2", libraries, name));
    }
  }
  return paths;
}

std::vector<std::string> nccl_paths(const sys::Root& root) {
  std::vector<std::string> paths = in_environment(root, "VIRTUAL_ENV");
  std::ranges::move(in_environment(root, "CONDA_PREFIX"), std::back_inserter(paths));
  paths.insert(paths.end(), {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2",
                             "/usr/local/lib/libnccl.so.2", "/opt/nccl/lib/libnccl.so.2"});
  return paths;
}

std::optional<int> ask(const sys::Library& library, const char* function) {
  auto* get = library.function<GetVersion>(function);
  int code = 0;
  return get != nullptr && get(&code) == 0 ? std::optional(code) : std::nullopt;
}

std::optional<FoundLibrary> find_cuda() {
  const Result<sys::Library> library = sys::Library::open("libcuda.so.1");
  if (!library) {
    return std::nullopt;
  }
  const std::optional<int> code = ask(*library, "cuDriverGetVersion");
  return FoundLibrary{
      .version = code ? std::optional(fmt::format("{}.{}", *code / 1000, *code % 1000 / 10))
                      : std::nullopt,
      .path = library->path_of("cuDriverGetVersion").value_or("libcuda.so.1")};
}

// It has no function for its version: the file's name ends with it.
std::optional<FoundLibrary> find_verbs(const sys::Root& root) {
  const Result<sys::Library> library = sys::Library::open("libibverbs.so.1");
  if (!library) {
    return std::nullopt;
  }
  FoundLibrary found{.version = {},
                     .path = library->path_of("ibv_get_device_list").value_or("libibverbs.so.1")};
  found.path = root.resolve(found.path).value_or(found.path);
  constexpr std::string_view kBefore = ".so.";
  if (const std::size_t at = found.path.find(kBefore); at != std::string::npos) {
    found.version = found.path.substr(at + kBefore.size());
  }
  return found;
}

}  // namespace

std::optional<FoundLibrary> find_nccl(const sys::Root& root) {
  for (const std::string& path : nccl_paths(root)) {
    if (const Result<sys::Library> library = sys::Library::open(path)) {
      const std::optional<int> code = ask(*library, "ncclGetVersion");
      return FoundLibrary{.version = code ? std::optional(nccl_version_text(*code)) : std::nullopt,
                          .path = library->path_of("ncclGetVersion").value_or(path)};
    }
  }
  return std::nullopt;
}

Libraries read_libraries(const sys::Root& root) {
  return {.nccl = find_nccl(root), .cuda = find_cuda(), .verbs = find_verbs(root)};
}

void append_facts(const Libraries& libraries, Facts& facts) {
  FactList list(facts, "library");
  const auto add = [&](const char* key, const std::optional<FoundLibrary>& found) {
    if (found) {
      list.add_text(key, found->version.value_or("?"), found->path);
    }
  };
  add("nccl", libraries.nccl);
  add("cuda", libraries.cuda);
  add("verbs", libraries.verbs);
  for (const auto& [key, value] : build_features()) {
    FactList(facts, "build").add_text(key, value, "this program");
  }
}

std::optional<bool> has_peer_memory(const sys::Root& root) {
  const Result<std::string> modules = root.read("/proc/modules");
  if (!modules) {
    return std::nullopt;
  }
  for (const std::string& line : lines_of(*modules)) {
    if (line.starts_with("nvidia_peermem ") || line.starts_with("nv_peer_mem ")) {
      return true;
    }
  }
  return false;
}

std::string nccl_version_text(int code) {
  return code < 10000 ? version_text(code / 1000, code % 1000 / 100, code % 100)
                      : version_text(code / 10000, code % 10000 / 100, code % 100);
}

// The versions that this program was built with, from the headers at compile time.

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
          {"sanitizers", sanitizers()}};
}

}  // namespace chokepoint::host
