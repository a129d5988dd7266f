// A node of a run by the figures that its `run --metrics` serves for Prometheus: for a host that
// reaches the nodes over the network but shares no folder with them.
//
//   this host ── GET /metrics HTTP/1.0 ──► the node's watch
//             ◄─ 200, text: NAME{LABEL="…",…} VALUE, a line each; the connection ends
//
// The response is not trusted: it is bounded in size and time, and lines of another form are
// skipped. Rates need two responses, so a Scraper stores the last one. One thread each.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/live/live_run.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

struct Metric {
  std::string name = {};
  std::map<std::string, std::string> labels = {};
  double value = 0;
};

// Those that begin with "chokepoint_". Pure.
std::vector<Metric> parse_metrics(std::string_view text);

using Metrics = std::vector<Metric>;

// `before`: an earlier response of the same node; empty if there is none. Pure.
LiveNode live_node(const Metrics& now, const Metrics& before);

class Scraper {
 public:
  // "gpu1:9464", "http://gpu1:9464/metrics".
  static Result<Scraper> of(std::string_view address);

  // Never fails: a node that does not respond, three times in a row once it has, is Silent, with
  // the reason.
  LiveNode read(std::chrono::milliseconds wait);

 private:
  Scraper(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}
  Result<std::string> fetch(std::chrono::milliseconds wait) const;
  std::string address() const;

  std::string host_;
  std::uint16_t port_;
  std::string name_ = {};  // of the node, once it has responded
  Metrics before_ = {};
  LiveNode last_ = {};
  int failures_ = 0;  // since its last response
  std::vector<double> recent_ms_ = {};
};

}  // namespace chokepoint::analysis
