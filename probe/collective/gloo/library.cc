#include "probe/collective/gloo/library.h"

#include <utility>

#include "base/sys/library.h"

namespace chokepoint::probe::collective {
namespace {

constexpr std::string_view kInstall = "'apt install libgloo0' brings it";

Error unusable(const std::filesystem::path& module, const Error& error) {
  // The loader's words begin with what it did not find.
  if (error.reason.starts_with("libgloo")) {
    return {ErrorKind::NotFound,      std::string(kGlooOperation), "libgloo.so.0", 0,
            "not found on this host", std::string(kInstall)};
  }
  return {error.kind, std::string(kGlooOperation), module.string(), 0, error.reason};
}

}  // namespace

GlooLibrary::GlooLibrary(sys::Library library, const gloo_module::Functions* functions)
    : library_(std::move(library)), functions_(functions) {}

Result<std::shared_ptr<const GlooLibrary>> GlooLibrary::open(const std::filesystem::path& module) {
  Result<sys::Library> library = sys::Library::open(module.string());
  if (!library) {
    return fail(unusable(module, library.error()));
  }
  auto* entry = library->function<gloo_module::Entry>(gloo_module::kEntryName);
  if (entry == nullptr || entry()->layout != gloo_module::kLayout) {
    return fail(ErrorKind::Unsupported, kGlooOperation, module.string(),
                "belongs to another version of chokepoint", "install both from one package");
  }
  const gloo_module::Functions* functions = entry();
  return std::shared_ptr<const GlooLibrary>(new GlooLibrary(std::move(*library), functions));
}

Result<std::filesystem::path> gloo_module_path() {
  std::optional<std::filesystem::path> found = sys::own_library(gloo_module::kModuleName);
  if (!found) {
    return fail(ErrorKind::Unsupported, kGlooOperation, gloo_module::kModuleName,
                "not beside this program, which was built or installed without Gloo",
                "build it where libgloo-dev is, or take the package for Debian or the tarball");
  }
  return std::move(*found);
}

}  // namespace chokepoint::probe::collective
