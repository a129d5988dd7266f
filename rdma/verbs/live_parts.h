// What an endpoint needs of the device that it is opened on, free of infiniband's headers. A value;
// the device outlives it.
#pragma once

#include <memory>
#include <string>

#include "rdma/verbs/types.h"

// NOLINTBEGIN(readability-identifier-naming): libibverbs names them.
struct ibv_context;
struct ibv_pd;
// NOLINTEND(readability-identifier-naming)

namespace chokepoint::rdma::verbs {

struct Api;

struct LiveParts {
  std::shared_ptr<const Api> api;
  std::string device;
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  DeviceLimits limits = {};
  Port port = {};
  Gid gid = {};
};

}  // namespace chokepoint::rdma::verbs
