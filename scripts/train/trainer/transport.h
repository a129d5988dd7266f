// What the ranks' data travel by: TCP on an interface, or verbs on an RDMA device.
#pragma once

#include <gloo/transport/device.h>

#include <memory>

#include "scripts/train/trainer/settings.h"

namespace chokepoint::trainer {

// Throws where there is no such interface or device, or Gloo was built without verbs.
std::shared_ptr<gloo::transport::Device> make_device(const Settings& settings);

}  // namespace chokepoint::trainer
