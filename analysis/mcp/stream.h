// Serves one client on two descriptors until its messages end. Neither a client that sends nothing
// nor one that reads nothing delays the handling of a signal. One thread.
#pragma once

#include "analysis/mcp/server.h"
#include "base/sys/error.h"

namespace chokepoint::analysis::mcp {

enum class ServedUntil {
  InputEnded,
  OutputClosed,  // the client is gone
  Interrupted,
};

// `interrupt`: readable once serving has to end. SIGPIPE is ignored by the caller, or held.
Result<ServedUntil> serve(int in, int out, int interrupt, Server& server);

}  // namespace chokepoint::analysis::mcp
