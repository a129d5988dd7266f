#include "capture/counter/statistics_reader.h"

#include "base/host/link_query.h"
#include "base/net/ethtool.h"

namespace chokepoint::capture::counter {
namespace {

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

// Read anew each time, because a test changes the answers as time passes.
class RecordedStatistics final : public StatisticsReader {
 public:
  explicit RecordedStatistics(sys::Root root) : root_(std::move(root)) {}

  Result<std::vector<std::string>> names(const std::string& interface) override {
    std::vector<std::string> names;
    for (const net::Statistic& statistic : ask(interface)) {
      names.push_back(statistic.name);
    }
    return names;
  }
  Result<std::vector<std::int64_t>> values(const std::string& interface,
                                           std::size_t /*count*/) override {
    std::vector<std::int64_t> values;
    for (const net::Statistic& statistic : ask(interface)) {
      values.push_back(statistic.value);
    }
    return values;
  }

 private:
  std::vector<net::Statistic> ask(const std::string& interface) const {
    return host::recorded_link_query(root_)->ask(interface).statistics;
  }

  sys::Root root_;
};

}  // namespace

std::unique_ptr<StatisticsReader> statistics_reader_for(const sys::Root& root) {
  if (!root.is_live()) {
    return std::make_unique<RecordedStatistics>(root);
  }
  Result<net::Ethtool> ethtool = net::Ethtool::open();
  return ethtool ? std::make_unique<LiveStatistics>(*std::move(ethtool)) : nullptr;
}

}  // namespace chokepoint::capture::counter
