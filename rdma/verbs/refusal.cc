#include "rdma/verbs/refusal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace chokepoint::rdma::verbs {
namespace {

std::string_view name_of(PortState state) {
  switch (state) {
    case PortState::Unknown:
      return "in an unknown state";
    case PortState::Down:
      return "down";
    case PortState::Initialising:
      return "initialising";
    case PortState::Armed:
      return "armed";
    case PortState::Active:
      return "active";
  }
  return "?";
}

Result<> at_most(std::string_view device, std::string_view what, std::int64_t wanted,
                 std::int64_t limit) {
  if (wanted <= limit) {
    return {};
  }
  return fail(ErrorKind::Usage, "open endpoint", device,
              fmt::format("{} {} are asked for, the device has {} at most", wanted, what, limit),
              fmt::format("ask for {} or less", limit));
}

Error port_not_active(const Port& port, std::string_view device) {
  const std::string_view next =
      port.ethernet ? "set its Ethernet interface up: ip link; see 'chokepoint rdma devices'"
                    : "check the cable and the subnet manager: ibstat, sminfo";
  return {ErrorKind::Unreachable,
          "open endpoint",
          fmt::format("{} port {}", device, port.number),
          0,
          fmt::format("the port is {}", name_of(port.state)),
          std::string(next)};
}

}  // namespace

std::optional<std::uint64_t> memory_lock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

int code_for_file(const std::string& path, int code) {
  return faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0 ? code : errno;
}

Error refused_to_open(int code, std::string_view device, std::string_view file) {
  Error error = from_errno(code, "open device", device);
  if (code == EACCES || code == EPERM) {
    error.reason = fmt::format("/dev/infiniband/{} may not be opened by this user", file);
    error.next_step =
        fmt::format("ls -l /dev/infiniband/{0}; run as root, or join the group that owns it", file);
  } else if (code == ENOENT || code == ENXIO || code == ENODEV) {
    error.reason = fmt::format("there is no /dev/infiniband/{}", file);
    error.next_step = "modprobe ib_uverbs; a container must be given /dev/infiniband";
  }
  return error;
}

Error refused_resource(int code, std::string_view operation, std::string_view device,
                       std::optional<std::uint64_t> lock_limit) {
  Error error = from_errno(code, operation, device);
  // Where nothing at all may be locked the kernel returns EPERM instead of ENOMEM.
  if (lock_limit && (code == ENOMEM || (code == EPERM && *lock_limit == 0))) {
    error.reason += fmt::format("; the memory lock limit is {} KiB", *lock_limit / 1024);
    error.next_step =
        "ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit; where this user is above "
        "limits, ask for less";
  } else if (code == ENOMEM) {
    error.next_step = "ask for fewer or shorter queues, or less memory";
  }
  return error;
}

Error refused_path(int code, std::string_view operation, std::string_view device) {
  Error error = from_errno(code, operation, device);
  if (code == ETIMEDOUT || code == EHOSTUNREACH || code == ENETUNREACH) {
    error.reason =
        "the peer's GID cannot be reached from this side's: no route, or no answer "
        "to ARP or neighbour discovery";
    error.next_step = "choose GIDs of one network on both sides; ping from one to the other";
  } else if (code == EINVAL) {
    error.reason =
        "the device does not take this path: GIDs of two kinds, or an MTU that is "
        "larger than the port's";
    error.next_step = "choose GIDs of the same type and family on both sides";
  }
  return error;
}

Result<> within_limits(const EndpointOptions& options, const DeviceLimits& limits,
                       std::string_view device) {
  const std::int64_t queues = std::max(1, options.queues);
  TRY(at_most(device, "queue pairs", queues, limits.queue_pairs));
  for (const int depth : {options.send_depth, options.receive_depth}) {
    TRY(at_most(device, "requests of a queue", depth, limits.depth));
    TRY(at_most(device, "completions (queue pairs × depth)", queues * depth, limits.completions));
  }
  return {};
}

Result<GidEntry> usable_gid(const Port& port, int gid_index, std::string_view device) {
  if (port.state != PortState::Active) {
    return fail(port_not_active(port, device));
  }
  const auto found = std::ranges::find(port.gids, gid_index, &GidEntry::index);
  if (found != port.gids.end()) {
    return *found;
  }
  std::string there;
  for (const GidEntry& entry : port.gids) {
    there += fmt::format("{}{}", there.empty() ? "" : ", ", entry.index);
  }
  return fail(ErrorKind::NotFound, "open endpoint", fmt::format("{} port {}", device, port.number),
              fmt::format("GID index {} is empty or out of range", gid_index),
              there.empty() ? "no index is set: give its Ethernet interface an address"
                            : "one of " + there + "; see 'chokepoint rdma devices'");
}

}  // namespace chokepoint::rdma::verbs
