#include "base/sys/library.h"

#include <dlfcn.h>

#include <system_error>

namespace chokepoint::sys {

Result<Library> Library::open(const std::string& name) {
  return open(name, RTLD_LAZY | RTLD_LOCAL);
}

Result<Library> Library::open_for_good(const std::string& name) {
  return open(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
}

Result<Library> Library::open(const std::string& name, int flags) {
  void* handle = dlopen(name.c_str(), flags);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return fail(ErrorKind::NotFound, "open library", name, reason == nullptr ? "" : reason);
  }
  return Library(handle);
}

std::optional<std::string> Library::path_of(const char* function) const {
  Dl_info info{};
  void* address = symbol(function);
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return std::nullopt;
  }
  return info.dli_fname;
}

void Library::Close::operator()(void* handle) const { dlclose(handle); }

void* Library::symbol(const char* name) const { return dlsym(handle_.get(), name); }

std::optional<std::filesystem::path> own_library(const std::filesystem::path& program,
                                                 std::string_view name) {
  const std::filesystem::path folder = program.parent_path();
  for (const std::filesystem::path& lib : {folder.parent_path() / "lib", folder / "lib"}) {
    std::filesystem::path path = lib / "chokepoint" / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) {
      return path;
    }
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> own_library(std::string_view name) {
  std::error_code problem;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  return problem ? std::nullopt : own_library(program, name);
}

}  // namespace chokepoint::sys
