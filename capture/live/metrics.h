// Figures for Prometheus while a job runs, served over HTTP (base/net/page_server.h): --metrics
// ADDRESS:PORT, GET /metrics. update() by one thread. Nothing secret is served: counters, the names
// of node, devices, mounts and cgroups, the run's labels; neither the command nor addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/metrics/metric_text.h"
#include "base/sys/error.h"
#include "capture/live/figures.h"

namespace chokepoint::capture::live {

class Metrics {
 public:
  // NextPort: the first that is free of kPorts, from the one that is named.
  enum class IfTaken : std::uint8_t { Fail, NextPort };
  static constexpr std::uint16_t kFirstPort = 9464;
  static constexpr int kPorts = 16;

  // ":9464" is all IPv4 addresses of this host, as in Prometheus' own programs; "9464" is loopback
  // alone; or "10.0.0.1:9464", "node1:9464". Port 0 is any free port; port "auto" is kFirstPort,
  // or the next that is free.
  static Result<std::unique_ptr<Metrics>> serve(const std::string& address,
                                                IfTaken if_taken = IfTaken::Fail);
  virtual ~Metrics() = default;

  virtual void update(const Figures& figures) = 0;
  virtual std::string address() const = 0;  // as bound: "127.0.0.1:9465"
  virtual int port() const = 0;
  virtual bool is_chosen() const = 0;  // the port; false: it is the one that was named
};

// Figures under their names in Prometheus: base units, counters that end in _total, shares from 0
// to 1. Unknown values have no sample.
metrics::MetricText metrics_of(const Figures& figures);

}  // namespace chokepoint::capture::live
