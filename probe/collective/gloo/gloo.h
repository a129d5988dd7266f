// Gloo, by the host's libgloo: the library that PyTorch uses without a GPU.
#pragma once

#include <filesystem>

#include "probe/collective/backend.h"

namespace chokepoint::probe::collective {

// All-reduce: "ring" (as PyTorch), "bcube". Reduce-scatter: "halving-doubling", and "all-reduce",
// which is what PyTorch does. Where no interface is given, GLOO_SOCKET_IFNAME names it, as it does
// for PyTorch.
Backend gloo_backend();
// With the module at this path, and no look at the environment.
Backend gloo_backend(const std::filesystem::path& module);

}  // namespace chokepoint::probe::collective
