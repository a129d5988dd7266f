// RDMA devices of this host. libibverbs is opened at run time: without it a host has no devices.
// Tests supply functions of their own (Api), so that all code above them runs without a card.
// Whether a device can be used is known only after a queue pair was made; opening it proves
// nothing.
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
#include <utility>
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
  Region(Owned<ibv_mr> region, const MemoryView& memory)
      : region_(std::move(region)), memory_(memory) {}

  std::uint32_t local_key() const;
  RemoteMemory remote() const;

 private:
  Owned<ibv_mr> region_;
  MemoryView memory_;
};

// A device as libibverbs opens it: its context, and one protection domain for all that is made with
// it. Owns both.
class Device {
 public:
  static Result<std::unique_ptr<Device>> open(std::shared_ptr<const Api> api, ibv_device& device);

  const std::string& name() const { return name_; }
  const DeviceLimits& limits() const { return limits_; }
  Result<Port> port(int number) const;
  Result<std::unique_ptr<Region>> register_memory(const MemoryView& memory, const Rights& peers,
                                                  bool relaxed_ordering);
  Result<std::unique_ptr<Endpoint>> open_endpoint(const EndpointOptions& options);

 private:
  Device(std::shared_ptr<const Api> api, std::string name, Owned<ibv_context> context,
         Owned<ibv_pd> domain);

  std::shared_ptr<const Api> api_;
  std::string name_;
  Owned<ibv_context> context_;
  Owned<ibv_pd> domain_;
  DeviceLimits limits_;
  int ports_ = 0;
};

// The devices of a host: libibverbs' own, or those of a test.
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
