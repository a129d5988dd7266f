// What the drivers of this host's NICs count themselves: pauses, discards, errors, stalls. Each
// telling counter that ever changes is a series by the driver's own name; where several drivers
// mean the same thing there is one more by a common name. Interfaces without a device behind them
// are left out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/sys/root.h"
#include "capture/counter/sampler.h"
#include "capture/counter/statistics_reader.h"

namespace chokepoint::capture::counter {

class StatisticsSampler final : public Sampler {
 public:
  StatisticsSampler(sys::Root root, std::unique_ptr<StatisticsReader> reader)
      : root_(std::move(root)), reader_(std::move(reader)) {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  struct Statistic {
    std::size_t index = 0;
    Counter* counter = nullptr;
  };
  struct Common {
    Counter* counter = nullptr;
    std::map<int, std::vector<Counter*>> ways = {};
  };
  struct Interface {
    std::size_t names = 0;
    std::vector<Statistic> statistics = {};
    std::map<std::string, Common, std::less<>> common = {};
  };

  static std::uint64_t largest_of(const Common& common);
  void find(Sink& sink);
  Interface learn(const std::string& name, Sink& sink);
  void read(const std::string& name, Interface& interface, std::int64_t now_ns, Sink& sink);

  sys::Root root_;
  std::unique_ptr<StatisticsReader> reader_;
  std::int64_t found_ns_ = INT64_MIN;
  std::map<std::string, Interface> interfaces_;
};

}  // namespace chokepoint::capture::counter
