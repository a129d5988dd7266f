// What a user can do about a server that is not reached, or does not answer as one. Pure functions.
#pragma once

#include "base/net/address.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// About connecting: who it was, as people write it, and the next step. Others stay as they are.
Error with_advice(Error error, const net::Endpoint& peer);
// About the handshake on a connection that was taken.
Error explained(Error error);

}  // namespace chokepoint::control
