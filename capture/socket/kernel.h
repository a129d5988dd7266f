// The way to one network namespace's sockets. What the watcher asks, so that tests can answer in
// the kernel's place. The watcher's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/sys/error.h"
#include "capture/socket/interfaces.h"
#include "capture/socket/reading.h"

namespace chokepoint::capture::socket {

// Readings are given for the moment of the call.
using Take = std::function<void(const Reading&)>;

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Every TCP socket but those that wait for the end of TIME_WAIT, listeners included.
  virtual Result<> dump(const Take& take) = 0;

  // One of the wanted, by its place among them; null: there is no such socket any longer. Who is
  // not taken got no answer this time.
  using TakeOne = std::function<void(std::size_t index, const Reading* reading)>;
  virtual Result<> look(std::span<const Name> wanted, const TakeOne& take) = 0;

  // The last state of the sockets that were destroyed since the call before. An error: some were
  // missed, or it cannot be had.
  virtual Result<> destroyed(const Take& take) = 0;

  virtual Result<Interfaces> interfaces() = 0;
};

// What a network namespace is reached through: a process in it, or the program itself.
struct Network {
  std::uint64_t inode = 0;  // 0: the program's own
  int pid = 0;
};

using OpenKernel = std::function<Result<std::unique_ptr<Kernel>>(const Network&)>;

}  // namespace chokepoint::capture::socket
