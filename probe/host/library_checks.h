// Which libraries a job and this program find here. Facts to read beside a verdict, nothing to
// mend. Pure.
#pragma once

#include <optional>

#include "base/host/libraries.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

struct DevicesPresent {
  bool gpus = false;
  bool rdma = false;
};

void check_libraries(const host::Libraries& libraries, std::optional<bool> peer_memory,
                     DevicesPresent present, Checks& checks);

}  // namespace chokepoint::probe
