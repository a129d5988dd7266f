// What a client that was let in may say: requests, one after the other, until it goes, falls silent
// or the server stops. Runs on the session's thread.
#pragma once

#include "base/control/session.h"
#include "probe/serve/server.h"

namespace chokepoint::probe::serve {

void converse(control::Session& session, const control::Services& services,
              control::Turnstile& turnstile, const Log& log);

}  // namespace chokepoint::probe::serve
