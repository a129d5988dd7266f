#include "capture/counter/nic_sampler.h"

#include <numeric>

#include "base/record/names.h"
#include "capture/counter/busiest.h"
#include "capture/counter/words.h"

namespace chokepoint::capture::counter {
namespace {

constexpr const char* kNetDevSource = "/proc/net/dev";
constexpr std::size_t kMostBusy = 16;  // interfaces that get rows of one reading

struct Measure {
  std::string_view name;
  const char* unit;
  std::size_t column;  // behind the colon
};

// In the order of the figures: tell() counts on it.
constexpr std::array kMeasured{
    Measure{record::kNicReceivedBytes, "bytes", 0},
    Measure{record::kNicSentBytes, "bytes", 8},
    Measure{record::kNicReceivedPackets, "packets", 1},
    Measure{record::kNicSentPackets, "packets", 9},
    Measure{record::kNicReceiveDrops, "packets", 3},
    Measure{record::kNicSendDrops, "packets", 11},
    Measure{record::kNicReceiveErrors, "packets", 2},
    Measure{record::kNicSendErrors, "packets", 10},
};
constexpr std::size_t kColumns = 16;

// Of bytes mostly; a drop alone is still more than nothing.
template <class Readings>
std::uint64_t sum_of(const Readings& readings) {
  return std::accumulate(readings.begin(), readings.end(), std::uint64_t{0});
}

double mbps(double bytes_per_s) { return bytes_per_s * 8 / 1e6; }

}  // namespace

NicSampler::Interface& NicSampler::interface_of(const std::string& name, std::int64_t now_ns,
                                                Sink& sink) {
  Interface& interface = interfaces_[name];
  const bool is_known = interface.counters.front() != nullptr;
  for (std::size_t i = 0; !is_known && i < kMeasures; ++i) {
    const Measure& measure = kMeasured.at(i);
    interface.counters.at(i) =
        &sink.counter({std::string(measure.name), name, measure.unit, kNetDevSource}, Keep::Always);
  }
  if (!interface.is_here && !is_first_) {
    sink.event(now_ns, record::kInterfaceCame, name, "{}");
    for (Counter* counter : interface.counters) {
      counter->restart();
    }
  }
  interface.is_here = true;
  interface.seen_ns = now_ns;
  return interface;
}

// "  eth0: 108646247    2360 0 …"; an alias has a colon in its name.
void NicSampler::read_line(std::string_view line, std::int64_t now_ns, Sink& sink) {
  const std::size_t colon = line.rfind(':');
  const std::string name(Words(line.substr(0, colon)).next());
  if (colon == std::string_view::npos || name == "lo") {
    return;
  }
  Words words(line.substr(colon + 1));
  std::array<std::uint64_t, kColumns> columns{};
  for (std::uint64_t& column : columns) {
    const std::optional<std::uint64_t> number = number_in(words.next());
    if (!number) {
      return;
    }
    column = *number;
  }
  Interface& interface = interface_of(name, now_ns, sink);
  const std::uint64_t before = sum_of(interface.readings);
  for (std::size_t i = 0; i < kMeasures; ++i) {
    interface.readings.at(i) = columns.at(kMeasured.at(i).column);
  }
  const std::uint64_t sum = sum_of(interface.readings);
  interface.growth = sum - std::min(sum, before);
}

void NicSampler::write(std::int64_t now_ns) {
  std::vector<std::uint64_t> growths;
  for (const auto& [name, interface] : interfaces_) {
    growths.push_back(interface.growth);
  }
  const std::vector<bool> is_busiest = busiest_of(growths, kMostBusy);
  std::size_t place = 0;
  for (auto& [name, interface] : interfaces_) {
    for (std::size_t i = 0; interface.is_here && i < kMeasures; ++i) {
      interface.counters.at(i)->see(now_ns, interface.readings.at(i), is_busiest[place]);
    }
    ++place;
  }
}

void NicSampler::miss(std::int64_t now_ns, Sink& sink) {
  for (auto& [name, interface] : interfaces_) {
    if (interface.is_here && interface.seen_ns != now_ns) {
      interface.is_here = false;
      interface.growth = 0;
      sink.event(now_ns, record::kInterfaceGone, name, "{}");
    }
  }
}

void NicSampler::sample(const Moment& moment, Sink& sink) {
  const Result<std::string_view> text = dev_.read(buffer_);
  if (!text) {
    sink.remark("interfaces: " + describe(text.error()));
    return;
  }
  Words lines = lines_of(*text);
  lines.skip(2);
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    read_line(line, moment.now_ns, sink);
  }
  miss(moment.now_ns, sink);
  write(moment.now_ns);
  is_first_ = false;
}

void NicSampler::tell(Figures& figures) const {
  for (const auto& [name, interface] : interfaces_) {
    if (interface.is_here) {
      const auto& counters = interface.counters;
      figures.nics.push_back({.name = name,
                              .sent_bytes = counters[1]->value(),
                              .received_bytes = counters[0]->value(),
                              .dropped = counters[4]->value() + counters[5]->value(),
                              .sent_mbps = mbps(counters[1]->growth_per_s()),
                              .received_mbps = mbps(counters[0]->growth_per_s())});
    }
  }
}

}  // namespace chokepoint::capture::counter
