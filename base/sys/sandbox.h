// Gives up for good whatever a process needs to open what it reads, and not to read it: for what
// parses bytes of others. Called once, after everything is open and before any thread is started.
//
//   root          becomes the user and group "nobody" (65534), without other groups
//   capabilities  none, not even those that a program gets when it is started
//   new programs  gain nothing by set-user-ID or file capabilities (no_new_privs)
//   system calls  those that reading, computing, threads and writing to open descriptors need
//
// A call that is not allowed fails with EPERM, so that a library that tries something has its error
// path. Under a sanitizer, which needs more calls, the list is left out.
#pragma once

#include <filesystem>

#include "base/sys/error.h"

namespace chokepoint::sys {

struct Sandbox {
  // The only socket to which may be sent; packet sockets, which could send frames, stay readable.
  // -1: none.
  int connected_to = -1;
};

// Where the user cannot be changed (a user namespace that has only one), capabilities and calls are
// still given up. An error if a thread keeps what is given up here.
Result<> enter_sandbox(const Sandbox& sandbox);

// Whether the file gives capabilities to whoever may start it, and this process may.
bool gives_capabilities(const std::filesystem::path& program);

// Whether this thread has the effective capability (CAP_NET_RAW, …).
bool has_capability(unsigned capability);

}  // namespace chokepoint::sys
