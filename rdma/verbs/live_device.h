// A device as libibverbs opens it: its context, and one protection domain for all that is made with
// it. Owns both; what it made must be gone before it. One thread.
#pragma once

#include "rdma/verbs/api.h"
#include "rdma/verbs/device.h"

namespace chokepoint::rdma::verbs {

class LiveDevice final : public Device {
 public:
  static Result<std::unique_ptr<Device>> open(std::shared_ptr<const Api> api, ibv_device& device);

  const std::string& name() const override { return name_; }
  const DeviceLimits& limits() const override { return limits_; }
  Result<Port> port(int number) const override;
  Result<std::unique_ptr<Region>> register_memory(const MemoryView& memory, const Rights& peers,
                                                  bool relaxed_ordering) override;
  Result<std::unique_ptr<Endpoint>> open_endpoint(const EndpointOptions& options) override;

 private:
  LiveDevice(std::shared_ptr<const Api> api, std::string name, Owned<ibv_context> context,
             Owned<ibv_pd> domain, const ibv_device_attr& attributes);

  Result<ibv_port_attr> query_port(int number) const;
  Result<std::vector<ibv_gid_entry>> query_gids() const;

  std::shared_ptr<const Api> api_;
  std::string name_;
  Owned<ibv_context> context_;
  Owned<ibv_pd> domain_;
  DeviceLimits limits_;
  int ports_ = 0;
};

}  // namespace chokepoint::rdma::verbs
