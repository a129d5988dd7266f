// RDMA devices of this host, behind an interface: the real one is opened at run time (a host
// without libibverbs is a host without devices), tests have one of their own. Whether a device can
// be used is known once a queue pair was made; opening it proves nothing.
//
//   Library ── open ──► Device ── register_memory ──► Region
//                              └─ open_endpoint ────► Endpoint
//
// A device outlives what it made. One thread at a time for each object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/types.h"

namespace chokepoint::rdma::verbs {

// Memory as its owner describes it.
struct MemoryView {
  std::uint64_t address = 0;  // as its processor sees it
  std::uint64_t bytes = 0;
  std::optional<int> dmabuf = {};  // a descriptor where the memory is not the host's
  std::uint64_t dmabuf_offset = 0;
};

// Memory that the device may reach, as long as this object lives.
class Region {
 public:
  virtual ~Region() = default;
  virtual std::uint32_t local_key() const = 0;
  virtual RemoteMemory remote() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const std::string& name() const = 0;
  virtual const DeviceLimits& limits() const = 0;
  virtual Result<Port> port(int number) const = 0;
  virtual Result<std::unique_ptr<Region>> register_memory(const MemoryView& memory,
                                                          const Rights& peers,
                                                          bool relaxed_ordering) = 0;
  virtual Result<std::unique_ptr<Endpoint>> open_endpoint(const EndpointOptions& options) = 0;
};

class Library {
 public:
  virtual ~Library() = default;
  // No device is no error; a library that cannot be opened is.
  virtual Result<std::vector<std::string>> devices() = 0;
  virtual Result<std::unique_ptr<Device>> open(const std::string& name) = 0;
};

// libibverbs.so.1 of this host. Never null: a missing library is an error of its functions.
std::unique_ptr<Library> live_library();

}  // namespace chokepoint::rdma::verbs
