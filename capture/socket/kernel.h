// What the watcher reads from the kernel about sockets and interfaces of one network namespace. An
// interface, so that tests can stand in for the kernel. The watcher's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/packet/packet.h"
#include "capture/socket/reading.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::socket {

// Which interface a connection leaves by, as far as its addresses show. A value.
class Interfaces {
 public:
  void add(int index, std::string name) { names_[index] = std::move(name); }
  void add(const packet::Address& address, int index) { by_address_[address] = index; }

  // `bound_to`: the index of the interface that the socket is bound to, or 0. A connection between
  // two of this host's own addresses never leaves it. Empty: not known.
  std::string of(const packet::Ends& ends, std::uint32_t bound_to) const;
  // Whether it is one of this host's, in this network namespace.
  bool is_own(const packet::Address& address) const;

 private:
  std::string name_of(int index) const;

  std::map<int, std::string> names_;
  std::map<packet::Address, int> by_address_;
};

// Readings are given for the moment of the call.
using Take = std::function<void(const Reading&)>;

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Every TCP socket but those that wait for the end of TIME_WAIT, listeners included.
  virtual Result<> dump(const Take& take) = 0;

  // Called with the place of a wanted socket in the list; null: there is no such socket any longer.
  // Not called for a socket without a reply this time.
  using TakeOne = std::function<void(std::size_t index, const Reading* reading)>;
  virtual Result<> query(std::span<const Name> wanted, const TakeOne& take) = 0;

  // The last state of the sockets that were destroyed since the call before. An error: some were
  // missed, or the kernel does not report any.
  virtual Result<> destroyed(const Take& take) = 0;

  virtual Result<Interfaces> interfaces() = 0;
};

// What a network namespace is reached through: a process in it, or the program itself.
struct Network {
  std::uint64_t inode = 0;  // 0: the program's own
  int pid = 0;
};

using OpenKernel = std::function<Result<std::unique_ptr<Kernel>>(const Network&)>;

// The live kernel. Entering another network namespace needs CAP_SYS_ADMIN; the calling thread stays
// where it is.
Result<std::unique_ptr<Kernel>> open_kernel(const sys::Root& root, const Network& network);

// What tests replace: the kernel and the thread's CPU clock.
struct Means {
  OpenKernel open = {};
  std::function<std::int64_t()> cpu_ns = {};  // that the calling thread has used
};

// As Watcher::make().
Result<std::unique_ptr<Watcher>> make_watcher(const Options& options, sys::Root root,
                                              const sys::Clock& clock, record::Writer& writer,
                                              FlowRegistry& registry, Means means);

}  // namespace chokepoint::capture::socket
