// The marks around nuttcp's UDP data; see protocol.h. Sending them blocks for about 250 ms before
// the data and 600 ms after it.
#pragma once

#include "base/net/address.h"
#include "base/net/patience.h"
#include "base/sys/error.h"

namespace chokepoint::probe::nuttcp {

// `fd` is connected to the receiver.
Result<> send_begin_marks(int fd, int interrupt);
Result<> send_end_marks(int fd, int interrupt);

// Waits for the first mark from this address and connects the socket to where it came from: whoever
// else sends is not heard.
Result<> await_begin_mark(int fd, const net::Address& from, const net::Patience& patience);

}  // namespace chokepoint::probe::nuttcp
