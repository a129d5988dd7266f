// Sampler of the counters that NIC drivers keep themselves (ethtool -S).
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/host/link_query.h"
#include "base/host/nic_statistics.h"
#include "base/net/ethtool.h"
#include "base/record/names.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {
namespace {

// A driver's own counters of an interface, as `ethtool -S` shows them: from the kernel for the live
// root, from recorded replies for a copy.
class StatisticsReader {
 public:
  virtual ~StatisticsReader() = default;

  virtual Result<std::vector<std::string>> names(const std::string& interface) = 0;
  // In the order of the names. Another number of values than `count`: the driver was reconfigured.
  virtual Result<std::vector<std::int64_t>> values(const std::string& interface,
                                                   std::size_t count) = 0;
};

class LiveStatistics final : public StatisticsReader {
 public:
  explicit LiveStatistics(net::Ethtool ethtool) : ethtool_(std::move(ethtool)) {}

  Result<std::vector<std::string>> names(const std::string& interface) override {
    return ethtool_.statistic_names(interface);
  }

  Result<std::vector<std::int64_t>> values(const std::string& interface,
                                           std::size_t count) override {
    return ethtool_.statistic_values(interface, count);
  }

 private:
  net::Ethtool ethtool_;
};

// Read again each time, because a test changes the replies as time passes.
class RecordedStatistics final : public StatisticsReader {
 public:
  explicit RecordedStatistics(sys::Root root) : root_(std::move(root)) {}

  Result<std::vector<std::string>> names(const std::string& interface) override {
    std::vector<std::string> names;
    for (const net::Statistic& statistic : query_link(interface)) {
      names.push_back(statistic.name);
    }
    return names;
  }

  Result<std::vector<std::int64_t>> values(const std::string& interface,
                                           std::size_t /*count*/) override {
    std::vector<std::int64_t> values;
    for (const net::Statistic& statistic : query_link(interface)) {
      values.push_back(statistic.value);
    }
    return values;
  }

 private:
  std::vector<net::Statistic> query_link(const std::string& interface) const {
    return host::recorded_link_query(root_)->ask(interface).statistics;
  }

  sys::Root root_;
};

// Null if the kernel has no such request.
std::unique_ptr<StatisticsReader> statistics_reader_for(const sys::Root& root) {
  if (!root.is_live()) {
    return std::make_unique<RecordedStatistics>(root);
  }
  Result<net::Ethtool> ethtool = net::Ethtool::open();
  return ethtool ? std::make_unique<LiveStatistics>(*std::move(ethtool)) : nullptr;
}

constexpr std::size_t kMaxStatistics = 256;  // of one interface

const char* unit_of(std::string_view name) {
  return name.ends_with("_us") ? "us" : name.ends_with("_bytes") ? "bytes" : "count";
}

// Pauses, discards, errors and stalls that the NICs' drivers count. Each relevant counter that ever
// changes is a series by the driver's own name; where several drivers mean the same thing there is
// one more by a common name. Interfaces without a device behind them are left out.
class StatisticsSampler final : public Sampler {
 public:
  StatisticsSampler(sys::Root root, std::unique_ptr<StatisticsReader> reader)
      : root_(std::move(root)), reader_(std::move(reader)) {}

  void sample(const Moment& moment, Sink& sink) override {
    if (!reader_) {
      sink.remark("NICs' own counters: the kernel cannot be asked for them");
      return;
    }
    if (found_ns_ == INT64_MIN || moment.now_ns - found_ns_ >= kFindAgainNs) {
      find(sink);
      found_ns_ = moment.now_ns;
    }
    for (auto& [name, interface] : interfaces_) {
      if (!interface.statistics.empty()) {
        read(name, interface, moment.now_ns, sink);
      }
    }
  }

 private:
  struct Statistic {
    std::size_t index = 0;
    Counter* counter = nullptr;
  };
  struct Common {
    Counter* counter = nullptr;
    std::map<int, std::vector<Counter*>> namings = {};
  };
  struct Interface {
    std::size_t names = 0;
    std::vector<Statistic> statistics = {};
    std::map<std::string, Common, std::less<>> common = {};
  };

  static std::uint64_t largest_of(const Common& common) {
    std::uint64_t most = 0;
    for (const auto& [naming, counters] : common.namings) {
      std::uint64_t sum = 0;
      for (const Counter* counter : counters) {
        sum += counter->value();
      }
      most = std::max(most, sum);
    }
    return most;
  }

  // Names are read again, too: a driver that is given more queues has more of them.
  void find(Sink& sink) {
    interfaces_.clear();
    for (const std::string& name : root_.list(kInterfacesFolder)) {
      if (root_.exists(fmt::format("{}/{}/device", kInterfacesFolder, name))) {
        interfaces_[name] = learn(name, sink);
      }
    }
  }

  Interface learn(const std::string& name, Sink& sink) {
    Interface interface;
    const Result<std::vector<std::string>> names = reader_->names(name);
    interface.names = names ? names->size() : 0;
    for (std::size_t i = 0; i < interface.names && interface.statistics.size() < kMaxStatistics;
         ++i) {
      const std::string& statistic = (*names)[i];
      if (!host::is_diagnostic_statistic(statistic)) {
        continue;
      }
      Counter& counter = sink.counter({fmt::format("{}{}", record::kEthtoolPrefix, statistic), name,
                                       "ethtool", unit_of(statistic)});
      interface.statistics.push_back({i, &counter});
      if (const auto common = host::common_statistic(statistic)) {
        Common& sum = interface.common[std::string(common->name)];
        sum.counter =
            &sink.counter({fmt::format("{}{}", record::kNicPrefix, common->name), name, "ethtool"},
                          FirstRow::Always);
        sum.namings[common->naming].push_back(&counter);
      }
    }
    return interface;
  }

  void read(const std::string& name, Interface& interface, std::int64_t now_ns, Sink& sink) {
    const Result<std::vector<std::int64_t>> values = reader_->values(name, interface.names);
    if (!values || values->size() != interface.names) {
      interface = learn(name, sink);
      return;
    }
    for (const Statistic& statistic : interface.statistics) {
      const std::int64_t value = (*values)[statistic.index];
      if (value >= 0) {
        statistic.counter->see(now_ns, static_cast<std::uint64_t>(value));
      }
    }
    for (auto& [common, sum] : interface.common) {
      sum.counter->see(now_ns, largest_of(sum));
    }
  }

  sys::Root root_;
  std::unique_ptr<StatisticsReader> reader_;
  std::int64_t found_ns_ = INT64_MIN;
  std::map<std::string, Interface> interfaces_;
};

}  // namespace

std::unique_ptr<Sampler> statistics_sampler(const sys::Root& root) {
  return std::make_unique<StatisticsSampler>(root, statistics_reader_for(root));
}

}  // namespace chokepoint::capture::counter
