// Figures for Prometheus, served over HTTP by prometheus-cpp: --metrics ADDRESS:PORT, GET /metrics.
// Threads are the library's own; update() by one thread. Nothing that is served is secret:
// counters, the names of node and interfaces, the run's labels; neither the command nor addresses.
//
// The library ignores SIGPIPE for the whole process once it serves: jobs are started before, or
// with their signals set right.
#pragma once

#include <memory>
#include <string>

#include "base/sys/error.h"
#include "capture/live/figures.h"

namespace chokepoint::capture::live {

class Metrics {
 public:
  // ":9464" is all of this host's IPv4 addresses, as Prometheus' own programs have it, "9464" this
  // host alone; "10.0.0.1:9464", "node1:9464". Port 0 is any that is free.
  static Result<std::unique_ptr<Metrics>> serve(const std::string& address);
  // Would serve() do? Starts no thread, so that a user's mistake is known before the job runs.
  static Result<> check(const std::string& address);
  virtual ~Metrics() = default;

  virtual void update(const Figures& figures) = 0;
  virtual int port() const = 0;  // as bound, where 0 was asked for
};

}  // namespace chokepoint::capture::live
