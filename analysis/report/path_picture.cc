#include "analysis/report/path_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/attribution/ceilings.h"
#include "analysis/attribution/route.h"
#include "analysis/limits/path_pace.h"
#include "analysis/load/connections.h"
#include "analysis/load/given_probes.h"
#include "analysis/load/probe_document.h"

namespace chokepoint::analysis {
namespace {

bool is_between(const ProbedPath& probed, const PathPicture& path, ProbeDirection direction) {
  return probed.is_between(path.from, path.to, direction);
}

bool is_on(const ProbedPath& probed, const PathPicture& path, ProbeDirection direction) {
  return is_between(probed, path, direction) && probed.leads_to(path.addresses, direction);
}

void add(const ProbedPath& probed, const ProbeDocument& document, PathPicture& path) {
  for (const ProbeDirection direction : {ProbeDirection::Send, ProbeDirection::Receive}) {
    const auto& mbps = document.direction(direction).throughput_mbps;
    if (!mbps || !is_between(probed, path, direction)) {
      continue;
    }
    if (is_on(probed, path, direction)) {
      path.probe_mbps = std::max(path.probe_mbps.value_or(0), *mbps);
    } else if (!path.other_way || *mbps > path.other_way->mbps) {
      path.other_way = {.address = probed.address, .mbps = *mbps};
    }
  }
}

// Adds what the probes of the run measured on a path.
void add_probes(const RunData& run, PathPicture& path) {
  for (const NodeData& node : run.nodes) {
    for (const record::Probe& probe : node.probes) {
      if (const auto document = read_probe(probe)) {
        add(probed_path(run, node, probe, *document), *document, path);
      }
    }
  }
}

constexpr double kMinExceeded = 1.2;   // times a limit
constexpr double kMinShareFull = 0.5;  // of the examined time, for a path that counts as full

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

struct LimitOfPath {
  PathLimit limit = PathLimit::Full;
  std::optional<double> PathPicture::* mbps = nullptr;
};

constexpr std::array kLimitsOfPath{LimitOfPath{PathLimit::Full, &PathPicture::full_mbps},
                                   LimitOfPath{PathLimit::Interface, &PathPicture::interface_mbps},
                                   LimitOfPath{PathLimit::Pcie, &PathPicture::pcie_mbps},
                                   LimitOfPath{PathLimit::Probe, &PathPicture::probe_mbps}};

// What the job clearly exceeded is no limit: a virtual interface may report any speed, and a short
// probe may not have reached the full one.
const LimitOfPath* narrowest(const PathPicture& path) {
  const LimitOfPath* least = nullptr;
  for (const LimitOfPath& limit : kLimitsOfPath) {
    const auto& mbps = path.*(limit.mbps);
    if (mbps && kMinExceeded * *mbps >= path.reached_mbps.value_or(0) &&
        (least == nullptr || *mbps < *(path.*(least->mbps)))) {
      least = &limit;
    }
  }
  return least;
}

// The sums over the connections of one path.
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
    add_traffic(line, line.directions.at(from), sum);
    const auto& [a, b] = line.sides;
    add_address(from == 0 ? a.address : b.address, sum.path.family, sum.path.addresses[0]);
    add_address(from == 0 ? b.address : a.address, sum.path.family, sum.path.addresses[1]);
    add_end(0, view.sender, view.at_sender, sum.path);
    add_end(1, view.receiver, view.at_receiver, sum.path);
    sum.pace.add(view, clocks_);
  }

  static void add_traffic(const FlowLine& line, const FlowDirection& direction, Sum& sum) {
    add_up(sum.path.payload_bytes, direction.payload_bytes);
    if (direction.retransmitted_packets && direction.packets) {
      add_up(sum.packets, direction.packets);
      add_up(sum.retransmitted, direction.retransmitted_packets);
    }
    if (direction.limited_by) {
      sum.limited += *direction.limited_by;
    }
    sum.path.min_rtt_ms = lesser(sum.path.min_rtt_ms, line.min_rtt_ms);
    const std::int64_t payload = direction.payload_bytes.value_or(0);
    if (direction.rtt_ms && payload > sum.most_payload) {
      sum.most_payload = payload;
      sum.path.median_rtt_ms = direction.rtt_ms->median;
    }
    for (const std::string& name : line.seen_by) {
      if (std::ranges::find(sum.seen_by, name) == sum.seen_by.end()) {
        sum.seen_by.push_back(name);
      }
    }
  }

  // `end`: 0 is the sender's, 1 the receiver's.
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
    if (sum.limited[Limit::LinkFull] > kMinShareFull * sum.limited.sum()) {
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

struct ComparedFigure {
  const char* what;
  const char* unit;
  std::optional<double> ProbedDirection::* of_probe;
  std::optional<double> PathPicture::* of_job;
};

constexpr std::array kComparedFigures{
    ComparedFigure{"throughput", "mbps", &ProbedDirection::throughput_mbps,
                   &PathPicture::reached_mbps},
    ComparedFigure{"round trip under load", "ms", &ProbedDirection::loaded_rtt_ms,
                   &PathPicture::median_rtt_ms},
    ComparedFigure{"loss", "percent", &ProbedDirection::loss_percent,
                   &PathPicture::retransmitted_percent}};

// The rows of one probe.
class ProbeLines {
 public:
  ProbeLines(const RunData& run, const std::vector<PathPicture>& paths, const NodeData& node,
             const record::Probe& probe, const ProbeDocument& document)
      : paths_(paths), probed_(probed_path(run, node, probe, document)), document_(document) {
    model_ = {.node = node.name,
              .kind = probe.kind,
              .peer = probed_.peer,
              .address = probed_.address,
              .wall_ns = node.wall_start_ns + (probe.t_ns - node.span.start_ns),
              .source = source_of(node, probe)};
  }

  std::vector<ProbeLine> make() {
    for (const ProbeDirection direction : {ProbeDirection::Send, ProbeDirection::Receive}) {
      const PathPicture* path = path_there(direction);
      for (const ComparedFigure& figure : kComparedFigures) {
        add(figure.what, figure.unit, document_.direction(direction).*(figure.of_probe),
            path == nullptr ? std::nullopt : path->*(figure.of_job),
            direction == ProbeDirection::Send ? "send" : "receive");
      }
    }
    add("least round trip", "ms", document_.least_rtt_ms, least_rtt_of_job(), "");
    return std::move(lines_);
  }

 private:
  // Null where the job did not use that path.
  const PathPicture* path_there(ProbeDirection direction) const {
    const auto found = std::ranges::find_if(
        paths_, [&](const PathPicture& path) { return is_on(probed_, path, direction); });
    return found == paths_.end() ? nullptr : &*found;
  }

  std::optional<double> least_rtt_of_job() const {
    for (const ProbeDirection direction : {ProbeDirection::Send, ProbeDirection::Receive}) {
      if (const PathPicture* path = path_there(direction); path != nullptr && path->min_rtt_ms) {
        return path->min_rtt_ms;
      }
    }
    return std::nullopt;
  }

  void add(const char* what, const char* unit, std::optional<double> of_probe,
           std::optional<double> of_job, const char* direction) {
    if (of_probe) {
      ProbeLine& line = lines_.emplace_back(model_);
      line.what = what;
      line.unit = unit;
      line.direction = direction;
      line.probe_value = *of_probe;
      line.job_value = of_job;
    }
  }

  const std::vector<PathPicture>& paths_;
  const ProbedPath probed_;
  const ProbeDocument& document_;
  ProbeLine model_;
  std::vector<ProbeLine> lines_;
};

}  // namespace

std::optional<double> PathPicture::possible_mbps() const {
  const LimitOfPath* least = narrowest(*this);
  return least == nullptr ? std::nullopt : this->*(least->mbps);
}

std::optional<PathLimit> PathPicture::limit() const {
  const LimitOfPath* least = narrowest(*this);
  return least == nullptr ? std::nullopt : std::optional(least->limit);
}

std::vector<PathPicture> path_pictures(const RunData& run, const Clocks& clocks,
                                       const FlowTable& table, double wan_rtt_ms) {
  return PathMaker(run, clocks, table).make(wan_rtt_ms);
}

std::optional<double> ProbeLine::share_percent() const {
  return what == kComparedFigures[0].what && job_value && probe_value > 0
             ? std::optional(100 * *job_value / probe_value)
             : std::nullopt;
}

ProbeTable probe_table(const RunData& run, const std::vector<PathPicture>& paths) {
  ProbeTable table;
  for (const NodeData& node : run.nodes) {
    for (const record::Probe& probe : node.probes) {
      if (probe.kind == "doctor") {
        continue;  // is about the host, not about a path
      }
      const auto document = read_probe(probe);
      const auto lines = document ? ProbeLines(run, paths, node, probe, *document).make()
                                  : std::vector<ProbeLine>();
      if (lines.empty()) {
        table.remarks.push_back(
            fmt::format("probe {} ({}) of {} {}", probe.id, probe.kind, node.name,
                        document ? "has no number that the job's could be compared with"
                                 : "was left out: its document cannot be read"));
      }
      table.lines.insert(table.lines.end(), lines.begin(), lines.end());
    }
  }
  return table;
}

}  // namespace chokepoint::analysis
