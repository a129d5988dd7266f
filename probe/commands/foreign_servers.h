// The servers for stock iperf3 and nuttcp clients that 'chokepoint serve' runs beside its own, a
// thread each. Opened before privileges are dropped; ended and joined when it goes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/cli/flags.h"
#include "base/control/limits.h"
#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"

namespace chokepoint::probe {

struct ForeignServerFlags {
  bool iperf3 = false;
  bool nuttcp = false;
};

void define(cli::Flags& flags, ForeignServerFlags& foreign);

class ForeignServers {
 public:
  using Log = std::function<void(const std::string& line)>;

  // Listens on these addresses, each server on its usual port. `insecure_open`: on others than
  // loopback, too.
  static Result<ForeignServers> open(const ForeignServerFlags& flags,
                                     const std::vector<net::Address>& addresses, bool insecure_open,
                                     const Log& log);
  ForeignServers(ForeignServers&&) = default;
  ForeignServers& operator=(ForeignServers&&) = delete;
  ~ForeignServers();

  // `log` is called from the servers' threads, and outlives them.
  void start(const control::Limits& limits, const sys::Root& root, const Log& log);

 private:
  explicit ForeignServers(sys::Descriptor stop) : stop_(std::move(stop)) {}

  sys::Descriptor stop_;
  std::vector<sys::Descriptor> iperf3_;
  std::vector<sys::Descriptor> nuttcp_;
  std::vector<std::thread> threads_;
};

}  // namespace chokepoint::probe
