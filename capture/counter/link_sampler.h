// Whether each interface is up, and how fast its link is, from /sys/class/net. Events where that
// changes. A few interfaces at a time, so that a host of 500 costs no more than one of four.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/root.h"
#include "capture/counter/kept_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

class LinkSampler final : public Sampler {
 public:
  LinkSampler(sys::Root root, std::int64_t slow_interval_ns)
      : root_(std::move(root)), slow_interval_ns_(slow_interval_ns) {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  struct Link {
    KeptFile file;  // of its state
    std::optional<std::string> state = {};
    std::optional<std::int64_t> speed_mbps = {};
    std::int64_t speed_read_ns = INT64_MIN;
    Counter* carrier_changes = nullptr;
    Level* speed = nullptr;
  };

  void list(std::int64_t now_ns);
  void look_at(const std::string& name, Link& link, std::int64_t now_ns, Sink& sink);
  bool is_enabled(const std::string& name) const;
  void look_at_speed(const std::string& name, Link& link, std::int64_t now_ns, Sink& sink) const;

  sys::Root root_;
  std::int64_t slow_interval_ns_;
  std::int64_t listed_ns_ = INT64_MIN;
  std::map<std::string, Link> links_;
  std::string buffer_;
  std::string last_;  // the name that was looked at last
};

}  // namespace chokepoint::capture::counter
