#include "capture/counter/statistics_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host/nic_statistics.h"
#include "base/record/names.h"

namespace chokepoint::capture::counter {
namespace {

using host::common_statistic;

constexpr std::size_t kMostStatistics = 256;  // an interface, of those that tell something

const char* unit_of(std::string_view name) {
  return name.ends_with("_us") ? "us" : name.ends_with("_bytes") ? "bytes" : "count";
}

}  // namespace

StatisticsSampler::Interface StatisticsSampler::learn(const std::string& name, Sink& sink) {
  Interface interface;
  const Result<std::vector<std::string>> names = reader_->names(name);
  interface.names = names ? names->size() : 0;
  for (std::size_t i = 0; i < interface.names && interface.statistics.size() < kMostStatistics;
       ++i) {
    const std::string& statistic = (*names)[i];
    if (!host::is_telling_statistic(statistic)) {
      continue;
    }
    Counter& counter = sink.counter({fmt::format("{}{}", record::kEthtoolPrefix, statistic), name,
                                     unit_of(statistic), "ethtool"});
    interface.statistics.push_back({i, &counter});
    if (const auto common = common_statistic(statistic)) {
      Common& sum = interface.common[std::string(common->name)];
      sum.counter = &sink.counter({fmt::format("{}{}", record::kNicPrefix, common->name), name,
                                   unit_of(common->name), "ethtool"},
                                  Keep::Always);
      sum.ways[common->way].push_back(&counter);
    }
  }
  return interface;
}

// Names are learned anew, too: a driver that is given more queues has more of them.
void StatisticsSampler::find(Sink& sink) {
  interfaces_.clear();
  for (const std::string& name : root_.list(kInterfacesFolder)) {
    if (root_.exists(fmt::format("{}/{}/device", kInterfacesFolder, name))) {
      interfaces_[name] = learn(name, sink);
    }
  }
}

std::uint64_t StatisticsSampler::largest_of(const Common& common) {
  std::uint64_t most = 0;
  for (const auto& [way, counters] : common.ways) {
    std::uint64_t sum = 0;
    for (const Counter* counter : counters) {
      sum += counter->value();
    }
    most = std::max(most, sum);
  }
  return most;
}

void StatisticsSampler::read(const std::string& name, Interface& interface, std::int64_t now_ns,
                             Sink& sink) {
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

void StatisticsSampler::sample(const Moment& moment, Sink& sink) {
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

}  // namespace chokepoint::capture::counter
