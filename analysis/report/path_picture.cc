#include "analysis/report/path_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/attribution/route.h"
#include "analysis/load/flow_key.h"
#include "analysis/report/path_pace.h"
#include "analysis/report/probed_path.h"

namespace chokepoint::analysis {
namespace {

constexpr double kBeyond = 1.2;
constexpr double kMostly = 0.5;

std::optional<double> lesser(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

void add_up(std::optional<std::int64_t>& sum, std::optional<std::int64_t> more) {
  if (more) {
    sum = sum.value_or(0) + *more;
  }
}

std::string family_of(const std::string& text) {
  const auto address = net::Address::parse(plain_address(text));
  return address ? std::string(net::name_of(address->family())) : "";
}

void add_address(const std::string& text, const std::string& family,
                 std::vector<std::string>& addresses) {
  const std::string address = plain_address(text);
  if (family_of(address) == family && std::ranges::find(addresses, address) == addresses.end()) {
    addresses.push_back(address);
  }
}

struct Limits {
  const char* name;
  std::optional<double> PathPicture::* mbps;
};

constexpr std::array kLimitsOfPath{
    Limits{"full", &PathPicture::full_mbps}, Limits{"interface", &PathPicture::interface_mbps},
    Limits{"pcie", &PathPicture::pcie_mbps}, Limits{"probe", &PathPicture::probe_mbps}};

// What the job went well beyond is no limit: an interface of software may tell any speed, a short
// probe may not have come up to it.
const Limits* narrowest(const PathPicture& path) {
  const Limits* least = nullptr;
  for (const Limits& limit : kLimitsOfPath) {
    const auto& mbps = path.*(limit.mbps);
    if (mbps && kBeyond * *mbps >= path.reached_mbps.value_or(0) &&
        (least == nullptr || *mbps < *(path.*(least->mbps)))) {
      least = &limit;
    }
  }
  return least;
}

// What is summed up for one path before it is told.
struct Sum {
  PathPicture path = {};
  PathPace pace = {};
  std::optional<std::int64_t> packets = {};
  std::optional<std::int64_t> retransmitted = {};
  LimitTimes limited = {};
  std::int64_t most_payload = -1;
  std::vector<std::string> seen_by = {};
};

class PathMaker {
 public:
  PathMaker(const RunData& run, const Clocks& clocks, const FlowTable& table)
      : run_(run), clocks_(clocks), table_(table) {}

  std::vector<PathPicture> make(double wan_rtt_ms) {
    for (const DirectionView& view : directions_of(run_)) {
      add(view);
    }
    std::vector<PathPicture> paths;
    for (auto& [key, sum] : sums_) {
      if (sum.path.payload_bytes.value_or(0) > 0) {
        paths.push_back(finished(sum, wan_rtt_ms));
      }
    }
    return paths;
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;

  void add(const DirectionView& view) {
    const Connection& connection = run_.connections[view.connection];
    const auto from = static_cast<std::size_t>(view.direction);
    const FlowLine& line = table_.flows[view.connection];
    const Key key{connection.names.at(from), connection.names.at(1 - from),
                  family_of(connection.row.a_address)};
    if (std::get<0>(key) == std::get<1>(key)) {
      return;
    }
    Sum& sum = sums_[key];
    std::tie(sum.path.from, sum.path.to, sum.path.family) = key;
    add_traffic(line, line.ways.at(from), sum);
    const auto& [a, b] = line.sides;
    add_address(from == 0 ? a.address : b.address, sum.path.family, sum.path.addresses[0]);
    add_address(from == 0 ? b.address : a.address, sum.path.family, sum.path.addresses[1]);
    add_end(0, view.sender, view.at_sender, sum.path);
    add_end(1, view.receiver, view.at_receiver, sum.path);
    sum.pace.add(view, clocks_);
  }

  static void add_traffic(const FlowLine& line, const FlowWay& way, Sum& sum) {
    add_up(sum.path.payload_bytes, way.payload_bytes);
    if (way.retransmitted_packets && way.packets) {
      add_up(sum.packets, way.packets);
      add_up(sum.retransmitted, way.retransmitted_packets);
    }
    if (way.limited_by) {
      sum.limited += *way.limited_by;
    }
    sum.path.min_rtt_ms = lesser(sum.path.min_rtt_ms, line.min_rtt_ms);
    const std::int64_t payload = way.payload_bytes.value_or(0);
    if (way.rtt_ms && payload > sum.most_payload) {
      sum.most_payload = payload;
      sum.path.median_rtt_ms = way.rtt_ms->median;
    }
    for (const std::string& name : line.seen_by) {
      if (std::ranges::find(sum.seen_by, name) == sum.seen_by.end()) {
        sum.seen_by.push_back(name);
      }
    }
  }

  // `end`: 0 where it comes from, 1 where it goes to.
  void add_end(std::size_t end, std::optional<std::size_t> node, const FlowData* flow,
               PathPicture& path) const {
    if (!node) {
      return;
    }
    const std::string& name = flow->row.interface;
    const Card card = card_of(run_.nodes[*node], name);
    path.interface_mbps = lesser(path.interface_mbps, card.speed_mbps);
    path.pcie_mbps = lesser(path.pcie_mbps, card.slot_mbps);
    if (const Interface* interface = run_.nodes[*node].interface(name)) {
      for (const std::string& address : interface->addresses) {
        add_address(address, path.family, path.addresses.at(end));
      }
    }
  }

  PathPicture finished(Sum& sum, double wan_rtt_ms) const {
    PathPicture& path = sum.path;
    if (path.min_rtt_ms) {
      path.is_wan = *path.min_rtt_ms >= wan_rtt_ms;
    }
    if (sum.retransmitted && sum.packets.value_or(0) > 0) {
      path.retransmitted_percent =
          100 * static_cast<double>(*sum.retransmitted) / static_cast<double>(*sum.packets);
    }
    const Pace pace = sum.pace.pace(path.min_rtt_ms);
    path.reached_mbps = pace.peak_mbps;
    path.mean_busy_mbps = pace.mean_mbps;
    if (sum.limited[Limit::LinkFull] > kMostly * sum.limited.sum()) {
      path.full_mbps = path.reached_mbps;
    }
    add_probes(run_, path);
    path.source = fmt::format("flow or socket samples and interfaces of {}{}",
                              fmt::join(sum.seen_by, " and "),
                              path.probe_mbps || path.other_way ? ", probes" : "");
    return std::move(path);
  }

  const RunData& run_;
  const Clocks& clocks_;
  const FlowTable& table_;
  std::map<Key, Sum> sums_;
};

}  // namespace

std::optional<double> PathPicture::possible_mbps() const {
  const Limits* least = narrowest(*this);
  return least == nullptr ? std::nullopt : this->*(least->mbps);
}

const char* PathPicture::limit() const {
  const Limits* least = narrowest(*this);
  return least == nullptr ? nullptr : least->name;
}

std::vector<PathPicture> path_pictures(const RunData& run, const Clocks& clocks,
                                       const FlowTable& table, double wan_rtt_ms) {
  return PathMaker(run, clocks, table).make(wan_rtt_ms);
}

}  // namespace chokepoint::analysis
