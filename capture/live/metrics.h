// Figures for Prometheus while a job runs, served over HTTP (page_server.h): --metrics
// ADDRESS:PORT, GET /metrics. update() by one thread. Nothing secret is served: counters, the names
// of node and interfaces, the run's labels; neither the command nor addresses.
#pragma once

#include <memory>
#include <string>

#include "base/metrics/metric_text.h"
#include "base/sys/error.h"
#include "capture/live/figures.h"

namespace chokepoint::capture::live {

class Metrics {
 public:
  // ":9464" is all IPv4 addresses of this host, as in Prometheus' own programs; "9464" is loopback
  // alone; or "10.0.0.1:9464", "node1:9464". Port 0 is any free port.
  static Result<std::unique_ptr<Metrics>> serve(const std::string& address);
  // Whether serve() would succeed. Starts no thread: a user's mistake is reported before the job
  // runs.
  static Result<> check(const std::string& address);
  virtual ~Metrics() = default;

  virtual void update(const Figures& figures) = 0;
  virtual int port() const = 0;  // as bound, if 0 was requested
};

// Figures under their names in Prometheus: base units, counters that end in _total, shares from 0
// to 1. Unknown values have no sample.
metrics::MetricText metrics_of(const Figures& figures);

}  // namespace chokepoint::capture::live
