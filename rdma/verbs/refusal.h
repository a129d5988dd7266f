// Why a device refused, and what to do: an errno of libibverbs alone says next to nothing. Values;
// what is read of this process is handed in, except by memory_lock_limit().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::verbs {

// RLIMIT_MEMLOCK of this process; nothing where there is none.
std::optional<std::uint64_t> memory_lock_limit();

// Why this process cannot use a file of /dev/infiniband; the code that is known where it can. The
// libraries call each a missing one.
int code_for_file(const std::string& path, int code);

// Opening /dev/infiniband/`file` ("uverbs0") for this device failed.
Error refused_to_open(int code, std::string_view device, std::string_view file);
// The device did not give queues or reach memory.
Error refused_resource(int code, std::string_view operation, std::string_view device,
                       std::optional<std::uint64_t> lock_limit);
// A queue pair did not take its path to the peer.
Error refused_path(int code, std::string_view operation, std::string_view device);

// What of these options cannot be had, before the device is asked.
Result<> within_limits(const EndpointOptions& options, const DeviceLimits& limits,
                       std::string_view device);
// The port is up and has such a GID.
Result<GidEntry> usable_gid(const Port& port, int gid_index, std::string_view device);

}  // namespace chokepoint::rdma::verbs
