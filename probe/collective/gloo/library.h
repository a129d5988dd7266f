// The shared object that links libgloo, opened: its functions, for as long as this is held. Any
// thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/sys/error.h"
#include "base/sys/library.h"
#include "probe/collective/gloo/module/interface.h"

namespace chokepoint::probe::collective {

// Of the errors that come from here.
inline constexpr std::string_view kGlooOperation = "backend gloo";

class GlooLibrary {
 public:
  static Result<std::shared_ptr<const GlooLibrary>> open(const std::filesystem::path& module);

  const gloo_module::Functions& functions() const { return *functions_; }

 private:
  GlooLibrary(sys::Library library, const gloo_module::Functions* functions);

  sys::Library library_;
  const gloo_module::Functions* functions_;
};

// Where it is installed; an error where this build has none.
Result<std::filesystem::path> gloo_module_path();

}  // namespace chokepoint::probe::collective
