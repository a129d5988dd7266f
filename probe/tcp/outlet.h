// Puts the payload into a socket, without copying it where the kernel can.
//
//   payload ── vmsplice, once ──► full pipe ── tee ──► pipe ── splice ──► socket
//
// The full pipe keeps its pages, so a chunk costs two calls and no look-up of any page. One
// stream's thread.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "base/sys/descriptor.h"
#include "probe/tcp/payload.h"

namespace chokepoint::probe::tcp {

class Outlet {
 public:
  // Falls back to copying where pipes cannot be had. `payload` outlives it.
  Outlet(int socket, const Payload& payload, bool zero_copy);

  // As send(2): how much went into the socket, at most `most`; -1 with errno.
  ssize_t send_some(std::size_t most);
  std::size_t largest() const { return largest_; }

 private:
  bool fill_pipe();
  ssize_t splice_some(std::size_t most);

  int socket_;
  const Payload& payload_;
  std::size_t largest_;
  bool zero_copy_ = false;
  sys::Descriptor full_in_, full_out_;
  sys::Descriptor in_, out_;
  std::size_t waiting_ = 0;  // in the second pipe
};

}  // namespace chokepoint::probe::tcp
