// Gloo, by the host's libgloo: the library that PyTorch uses without a GPU.
#pragma once

#include <filesystem>

#include "probe/collective/backend.h"

namespace chokepoint::probe::collective {

// All-reduce: "ring" (as PyTorch), "bcube". Reduce-scatter: "halving-doubling", and "all-reduce",
// which is what PyTorch does.
Backend gloo_backend();
// With the module at this path.
Backend gloo_backend(const std::filesystem::path& module);

}  // namespace chokepoint::probe::collective
