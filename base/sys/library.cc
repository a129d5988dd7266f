#include "base/sys/library.h"

#include <dlfcn.h>

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

}  // namespace chokepoint::sys
