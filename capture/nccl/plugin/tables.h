// What NCCL looks up by name.
#pragma once

#include "capture/nccl/plugin/interface.h"

extern "C" {
// NOLINTBEGIN(readability-identifier-naming,bugprone-dynamic-static-initializers): NCCL's names,
// and constants
__attribute__((
    visibility("default"))) extern chokepoint::capture::nccl::plugin::Table4 const ncclProfiler_v4;
__attribute__((
    visibility("default"))) extern chokepoint::capture::nccl::plugin::Table5 const ncclProfiler_v5;
__attribute__((
    visibility("default"))) extern chokepoint::capture::nccl::plugin::Table5 const ncclProfiler_v6;
// NOLINTEND(readability-identifier-naming,bugprone-dynamic-static-initializers)
}
