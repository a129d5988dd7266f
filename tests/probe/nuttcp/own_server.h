// Our nuttcp server, for peers::OwnServer to run.
#pragma once

#include "probe/nuttcp/server.h"
#include "tests/probe/peer/own_server.h"

namespace chokepoint::probe::nuttcp {

inline peers::OwnServer::Serve own_server() {
  return [](auto listeners, auto log, int stop) {
    return serve(std::move(listeners), {.log = log}, stop);
  };
}

}  // namespace chokepoint::probe::nuttcp
