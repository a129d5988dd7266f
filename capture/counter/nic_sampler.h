// Bytes, packets, drops and errors of every interface but loopback, from /proc/net/dev, and what
// becomes of its link. Interfaces come and go at any time: one that comes back goes on counting
// where it was.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys/root.h"
#include "capture/counter/kept_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

class NicSampler final : public Sampler {
 public:
  explicit NicSampler(const sys::Root& root) : dev_(root, "/proc/net/dev") {}

  void sample(const Moment& moment, Sink& sink) override;
  void tell(Figures& figures) const override;

 private:
  static constexpr std::size_t kMeasures = 8;
  using Readings = std::array<std::uint64_t, kMeasures>;

  struct Interface {
    std::array<Counter*, kMeasures> counters = {};
    Readings readings = {};
    std::uint64_t growth = 0;  // of all, since the reading before
    std::int64_t seen_ns = 0;
    bool is_here = false;
  };

  void read_line(std::string_view line, std::int64_t now_ns, Sink& sink);
  Interface& interface_of(const std::string& name, std::int64_t now_ns, Sink& sink);
  void write(std::int64_t now_ns);
  void miss(std::int64_t now_ns, Sink& sink);

  KeptFile dev_;
  std::string buffer_;
  bool is_first_ = true;
  std::map<std::string, Interface, std::less<>> interfaces_;
};

}  // namespace chokepoint::capture::counter
