// The server of QUIC's protocol "perf" (perf_client.h). Its gate has serve_perf()'s thread, and the
// one client that it serves at a time another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/control/limits.h"
#include "base/control/test_queue.h"
#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::probe::quic {

struct PerfServerOptions {
  // Shared with every other kind of test on this host. Outlives serve_perf().
  control::TestQueue& test_queue;
  control::Limits limits = {};
  sys::Root root = sys::Root("/");
  // A line for the operator's log. Called from both threads.
  std::function<void(const std::string& line)> log = [](const std::string&) {};
};

// A UDP socket for clients of any address; the error is that of net::bind_udp().
Result<sys::Descriptor> listen_perf(const net::Endpoint& local);

// Until `stop` is readable. One client at a time: another is refused while it is served, or while
// another test fills the path. Its thread has ended and every socket is closed on return.
Result<> serve_perf(std::vector<sys::Descriptor> listeners, const PerfServerOptions& options,
                    int stop);

}  // namespace chokepoint::probe::quic
