#include "capture/nccl/plugin/calls.h"

namespace {

using namespace chokepoint::capture::nccl::plugin;

constexpr const char* kName = "chokepoint";

int join4(void** context, int* mask, const char* name, std::uint64_t id, int nodes, int ranks,
          int rank, Logger log) {
  return join(context, {.version = 4,
                        .id = id,
                        .name = name,
                        .nodes = nodes,
                        .ranks = ranks,
                        .rank = rank,
                        .mask = mask,
                        .log = log,
                        .caller = __builtin_return_address(0)});
}

template <int kVersion>
int join5(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks,
          int rank, Logger log) {
  return join(context, {.version = kVersion,
                        .id = id,
                        .name = name,
                        .nodes = nodes,
                        .ranks = ranks,
                        .rank = rank,
                        .mask = mask,
                        .log = log,
                        .caller = __builtin_return_address(0)});
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NCCL's names
constinit const Table4 ncclProfiler_v4 = {kName, join4, start, stop, record_state, finalize};
constinit const Table5 ncclProfiler_v5 = {kName, join5<5>, start, stop, record_state, finalize};
constinit const Table5 ncclProfiler_v6 = {kName, join5<6>, start, stop, record_state, finalize};
constinit const Table5 ncclProfiler_v7 = {kName, join5<7>, start, stop, record_state, finalize};
// NOLINTEND(readability-identifier-naming)
