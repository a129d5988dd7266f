// Samplers of network interfaces: their counters and their links.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"
#include "capture/counter/sampler.h"
#include "capture/counter/series.h"

namespace chokepoint::capture::counter {
namespace {

constexpr const char* kNetDevSource = "/proc/net/dev";
constexpr std::size_t kMaxBusy = 16;  // interfaces that get rows per reading

struct Measure {
  std::string_view name;
  std::size_t column;  // behind the colon
};

// report() depends on the order.
constexpr std::array kMeasured{
    Measure{record::kNicReceivedBytes, 0},   Measure{record::kNicSentBytes, 8},
    Measure{record::kNicReceivedPackets, 1}, Measure{record::kNicSentPackets, 9},
    Measure{record::kNicReceiveDrops, 3},    Measure{record::kNicSendDrops, 11},
    Measure{record::kNicReceiveErrors, 2},   Measure{record::kNicSendErrors, 10},
};
constexpr std::size_t kColumns = 16;

// A measure of activity: mostly bytes, but a drop alone counts, too.
template <class Readings>
std::uint64_t sum_of(const Readings& readings) {
  return std::accumulate(readings.begin(), readings.end(), std::uint64_t{0});
}

double mbps(double bytes_per_s) { return bytes_per_s * 8 / 1e6; }

// From /proc/net/dev: bytes, packets, drops and errors of every interface but loopback. Interfaces
// come and go at any time: the series of one that comes back continues where it was.
class NicSampler final : public Sampler {
 public:
  explicit NicSampler(const sys::Root& root) : dev_(root, "/proc/net/dev") {}

  void sample(const Moment& moment, Sink& sink) override {
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

  void report(Figures& figures) const override {
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

  // "  eth0: 108646247    2360 0 …"; an alias has a colon in its name.
  void read_line(std::string_view line, std::int64_t now_ns, Sink& sink) {
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

  Interface& interface_of(const std::string& name, std::int64_t now_ns, Sink& sink) {
    Interface& interface = interfaces_[name];
    const bool is_known = interface.counters.front() != nullptr;
    for (std::size_t i = 0; !is_known && i < kMeasures; ++i) {
      const Measure& measure = kMeasured.at(i);
      interface.counters.at(i) =
          &sink.counter({std::string(measure.name), name, kNetDevSource}, FirstRow::Always);
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

  void write(std::int64_t now_ns) {
    std::vector<std::uint64_t> growths;
    for (const auto& [name, interface] : interfaces_) {
      growths.push_back(interface.growth);
    }
    const std::vector<bool> is_busiest = busiest_of(growths, kMaxBusy);
    std::size_t place = 0;
    for (auto& [name, interface] : interfaces_) {
      for (std::size_t i = 0; interface.is_here && i < kMeasures; ++i) {
        interface.counters.at(i)->see(now_ns, interface.readings.at(i), is_busiest[place]);
      }
      ++place;
    }
  }

  void miss(std::int64_t now_ns, Sink& sink) {
    for (auto& [name, interface] : interfaces_) {
      if (interface.is_here && interface.seen_ns != now_ns) {
        interface.is_here = false;
        interface.growth = 0;
        sink.event(now_ns, record::kInterfaceGone, name, "{}");
      }
    }
  }

  KernelFile dev_;
  std::string buffer_;
  bool is_first_ = true;
  std::map<std::string, Interface, std::less<>> interfaces_;
};

constexpr std::size_t kMaxLinksAtATime = 8;
constexpr std::size_t kMaxOpenLinkFiles = 64;

// Dummies and tunnels, which have no carrier to lose, are "unknown".
bool is_up(const std::string& state) { return state == "up" || state == "unknown"; }

// A driver without a link reports -1, some as an unsigned number.
std::optional<std::int64_t> positive(std::optional<std::int64_t> speed) {
  constexpr std::int64_t kUnsignedMinusOne = 4294967295;
  return speed && *speed > 0 && *speed < kUnsignedMinusOne ? speed : std::nullopt;
}

std::string mbps_json(std::optional<std::int64_t> speed) {
  return speed ? std::to_string(*speed) : "null";
}

// From /sys/class/net: whether each interface is up, and how fast its link is; events when that
// changes. A few interfaces per reading, so that a host of 500 costs no more than one of four.
class LinkSampler final : public Sampler {
 public:
  LinkSampler(sys::Root root, std::int64_t slow_interval_ns)
      : root_(std::move(root)), slow_interval_ns_(slow_interval_ns) {}

  void sample(const Moment& moment, Sink& sink) override {
    if (listed_ns_ == INT64_MIN || moment.now_ns - listed_ns_ >= slow_interval_ns_) {
      list(moment.now_ns);
    }
    for (std::size_t i = 0; i < std::min(kMaxLinksAtATime, links_.size()); ++i) {
      auto next = links_.upper_bound(last_);
      next = next == links_.end() ? links_.begin() : next;
      read_link(next->first, next->second, moment.now_ns, sink);
      last_ = next->first;
    }
  }

 private:
  struct Link {
    KernelFile file;  // of its state
    std::optional<std::string> state = {};
    std::optional<std::int64_t> speed_mbps = {};
    std::int64_t speed_read_ns = INT64_MIN;
    Counter* carrier_changes = nullptr;
    Level* speed = nullptr;
  };

  // Interfaces that are gone are forgotten; NicSampler writes the event.
  void list(std::int64_t now_ns) {
    const std::vector<std::string> names = root_.list(kInterfacesFolder);
    std::erase_if(
        links_, [&](const auto& entry) { return !std::ranges::binary_search(names, entry.first); });
    for (const std::string& name : names) {
      if (name != "lo" && !links_.contains(name)) {
        const std::string path = fmt::format("{}/{}/operstate", kInterfacesFolder, name);
        links_.try_emplace(
            name, Link{.file = KernelFile(root_, path, links_.size() < kMaxOpenLinkFiles)});
      }
    }
    listed_ns_ = now_ns;
  }

  void read_link(const std::string& name, Link& link, std::int64_t now_ns, Sink& sink) {
    const Result<std::string_view> text = link.file.read(buffer_);
    const auto state = text ? std::optional(std::string(Words(*text).next())) : std::nullopt;
    const bool has_changed = state && link.state && *state != *link.state;
    if (has_changed && is_up(*state) != is_up(*link.state)) {
      sink.event(now_ns, is_up(*state) ? record::kInterfaceUp : record::kInterfaceDown, name,
                 fmt::format(R"({{"state":"{}","before":"{}","enabled":{}}})", *state, *link.state,
                             is_enabled(name)));
    }
    if (has_changed || link.speed_read_ns == INT64_MIN ||
        now_ns - link.speed_read_ns >= slow_interval_ns_) {
      read_speed(name, link, now_ns, sink);
    }
    if (state) {
      link.state = state;
    }
  }

  // Whether it is administratively up: an interface that is down although enabled lost its carrier.
  bool is_enabled(const std::string& name) const {
    constexpr unsigned long kUp = 1;  // IFF_UP
    const auto flags = root_.text(fmt::format("{}/{}/flags", kInterfacesFolder, name));
    return !flags || (std::strtoul(flags->c_str(), nullptr, 16) & kUp) != 0;
  }

  void read_speed(const std::string& name, Link& link, std::int64_t now_ns, Sink& sink) const {
    const std::string folder = fmt::format("{}/{}", kInterfacesFolder, name);
    link.speed_read_ns = now_ns;
    if (link.speed == nullptr) {
      link.speed = &sink.level({std::string(record::kNicSpeed), name, folder + "/speed"});
      link.carrier_changes = &sink.counter(
          {std::string(record::kNicCarrierChanges), name, folder + "/carrier_changes"});
    }
    const std::optional<std::int64_t> speed = positive(root_.number(folder + "/speed"));
    if (speed && link.speed_mbps && *speed != *link.speed_mbps) {
      sink.event(now_ns, record::kLinkSpeedChanged, name,
                 fmt::format(R"({{"mbps":{},"before_mbps":{}}})", mbps_json(speed),
                             mbps_json(link.speed_mbps)));
    }
    if (speed) {
      link.speed_mbps = speed;
      link.speed->see(now_ns, static_cast<double>(*speed));
    }
    if (const auto changes = root_.number(folder + "/carrier_changes")) {
      link.carrier_changes->see(now_ns,
                                static_cast<std::uint64_t>(std::max<std::int64_t>(*changes, 0)));
    }
  }

  sys::Root root_;
  std::int64_t slow_interval_ns_;
  std::int64_t listed_ns_ = INT64_MIN;
  std::map<std::string, Link> links_;
  std::string buffer_;
  std::string last_;  // the name that was read last
};

}  // namespace

OwnedSampler nic_sampler(const sys::Root& root) { return std::make_unique<NicSampler>(root); }

OwnedSampler link_sampler(const sys::Root& root, std::int64_t slow_interval_ns) {
  return std::make_unique<LinkSampler>(root, slow_interval_ns);
}

}  // namespace chokepoint::capture::counter
