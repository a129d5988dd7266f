// Why a device refused, and what to do: an errno of libibverbs alone explains little. Pure, except
// for memory_lock_limit() and code_for_file().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::verbs {

// RLIMIT_MEMLOCK of this process in bytes; nullopt: unlimited.
std::optional<std::uint64_t> memory_lock_limit();

// The errno for which this process cannot use a file of /dev/infiniband, since the libraries report
// each as a missing file; `code` if it can.
int code_for_file(const std::string& path, int code);

// Opening /dev/infiniband/`file` ("uverbs0") for this device failed.
Error refused_to_open(int code, std::string_view device, std::string_view file);
// The device did not create queues or register memory.
Error refused_resource(int code, std::string_view operation, std::string_view device,
                       std::optional<std::uint64_t> lock_limit);
// A queue pair did not accept its path to the peer.
Error refused_path(int code, std::string_view operation, std::string_view device);

// Checked before the device is asked.
Result<> within_limits(const EndpointOptions& options, const DeviceLimits& limits,
                       std::string_view device);
// An error unless the port is up and has such a GID.
Result<GidEntry> usable_gid(const Port& port, int gid_index, std::string_view device);

}  // namespace chokepoint::rdma::verbs
