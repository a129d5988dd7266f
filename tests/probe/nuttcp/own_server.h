// Our nuttcp server, for peers::OwnServer to run.
#pragma once

#include <memory>

#include "base/control/test_queue.h"
#include "probe/nuttcp/server.h"
#include "tests/probe/peer/own_server.h"

namespace chokepoint::probe::nuttcp {

inline peers::OwnServer::Serve own_server(
    std::shared_ptr<control::TestQueue> test_queue = std::make_shared<control::TestQueue>(false)) {
  return [test_queue](auto listeners, auto log, int stop) {
    return serve(std::move(listeners), {.test_queue = *test_queue, .log = log}, stop);
  };
}

}  // namespace chokepoint::probe::nuttcp
