// A host's own figures: what its job sent, its cards, cores, memory, GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/report/node_facts.h"
#include "analysis/report/track_maker.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

enum class How { PerSecond, BytesToMbps, PercentOfTime, Level, LevelBytesToMbps };
enum class Of { Each, All, Sum, BusiestCore };

// A series, or those whose names begin like it, as tracks.
struct Rule {
  std::string_view group;
  std::string_view series;
  How how;
  Of of;
  std::string_view name;
  std::string_view unit;
  bool only_if_any = false;  // nothing is drawn of what never happened
};

constexpr std::array kRules = {
    Rule{"nic", record::kNicSentBytes, How::BytesToMbps, Of::Each, "sent, all traffic", "mbps"},
    Rule{"nic", record::kNicReceivedBytes, How::BytesToMbps, Of::Each, "received, all traffic",
         "mbps"},
    Rule{"drops", record::kNicSendDrops, How::PerSecond, Of::Each, "not sent", "per_s", true},
    Rule{"drops", record::kNicReceiveDrops, How::PerSecond, Of::Each, "received, dropped", "per_s",
         true},
    Rule{"drops", record::kSoftnetDropped, How::PerSecond, Of::All, "dropped before TCP", "per_s",
         true},
    Rule{"drops", "nic.received_pauses", How::PerSecond, Of::Each, "pauses received", "per_s",
         true},
    Rule{"drops", "nic.sent_pauses", How::PerSecond, Of::Each, "pauses sent", "per_s", true},
    Rule{"cpu", record::kCpuBusy, How::PercentOfTime, Of::BusiestCore, "busiest core", "percent"},
    Rule{"cpu", record::kProcessCpu, How::PercentOfTime, Of::Sum, "the job, of one core",
         "percent"},
    Rule{"softirq", record::kCpuSoftirq, How::PercentOfTime, Of::BusiestCore, "busiest core",
         "percent"},
    Rule{"pressure", record::kPressureSome, How::PercentOfTime, Of::Each, "somebody waited for",
         "percent", true},
    Rule{"memory", record::kProcessMemory, How::Level, Of::Sum, "the job", "bytes"},
    Rule{"pcie", record::kPcieCeiling, How::Level, Of::Each, "the link carries", "mbps"},
    Rule{"pcie", record::kGpuPcieSent, How::LevelBytesToMbps, Of::Each, "from the GPU", "mbps"},
    Rule{"pcie", record::kGpuPcieReceived, How::LevelBytesToMbps, Of::Each, "to the GPU", "mbps"},
    Rule{"gpu", record::kGpuUtilization, How::Level, Of::Each, "a kernel ran", "percent"},
    Rule{"gpu", record::kGpuMemoryBusy, How::Level, Of::Each, "memory was at work", "percent"},
    Rule{"gpu-clock", record::kGpuClock, How::Level, Of::Each, "clock", "MHz"},
    Rule{"gpu-clock", record::kGpuMaxClock, How::Level, Of::Each, "could run at", "MHz"},
    Rule{"rdma", "rdma.sent_bytes", How::BytesToMbps, Of::Each, "sent", "mbps"},
    Rule{"rdma", "rdma.received_bytes", How::BytesToMbps, Of::Each, "received", "mbps"},
};

Values values_of(const Rule& rule, const SeriesData& series, const Edges& edges) {
  switch (rule.how) {
    case How::PerSecond:
      return rate_of(series, edges);
    case How::BytesToMbps:
      return times(rate_of(series, edges), 8e-6);
    case How::PercentOfTime:
      return times(rate_of(series, edges), 1e-7);
    case How::Level:
      return level_of(series, edges);
    case How::LevelBytesToMbps:
      return times(level_of(series, edges), 8e-6);
  }
  return {};
}

std::string source_of(const Rule& rule, const SeriesData& series, const NodeData& node) {
  return fmt::format("{} of {}{}", rule.series,
                     rule.of == Of::Each ? series.row.subject + " on " : "", node.name);
}

class NodeTracks {
 public:
  NodeTracks(const TrackMaker& maker, std::size_t place, std::vector<Track>& tracks)
      : maker_(maker),
        place_(place),
        node_(maker.run().nodes[place]),
        edges_(maker.edges(AxisUse::Node, place)),
        tracks_(tracks) {}

  void add() {
    add_throughput(record::kJobSentBytes, 0, "sent");
    add_throughput(record::kJobReceivedBytes, 1, "received");
    add_retransmissions();
    for (const Rule& rule : kRules) {
      add_rule(rule);
    }
    add_all_cores();
  }

 private:
  Track track(std::string_view group, std::string_view name, std::string_view unit) const {
    return {.group = std::string(group),
            .node = node_.name,
            .name = std::string(name),
            .unit = std::string(unit),
            .axis = static_cast<std::size_t>(AxisUse::Node)};
  }

  void add_known(Track made) {
    made.values = maker_.watched(AxisUse::Node, place_, std::move(made.values));
    add_track(std::move(made), tracks_);
  }

  // What left this node (way 0) or came to it (1), by its packets.
  Values by_packets(std::size_t way, record::Figure record::FlowSample::* what) const {
    std::vector<Point> rows;
    for (const FlowData& flow : node_.flows) {
      if (!flow.row.local_end.known()) {
        continue;
      }
      const auto local = static_cast<std::size_t>(flow.row.local_end.value());
      for (const record::FlowSample& sample : flow.packets.at(way == 0 ? local : 1 - local)) {
        if ((sample.*what).known()) {
          rows.push_back({sample.t_ns, static_cast<double>((sample.*what).value())});
        }
      }
    }
    return maker_.read_in_full(AxisUse::Node, place_, rate_of_sums(rows, edges_));
  }

  Values by_counter(std::string_view name) const {
    Values sum = unknown_values(edges_);
    for (const SeriesData* series : node_.find(name)) {
      sum = sum_of(std::move(sum), rate_of(*series, edges_));
    }
    return sum;
  }

  void add_throughput(std::string_view counter, std::size_t way, std::string_view name) {
    Track made = track("throughput", name, "mbps");
    made.values =
        times(either(by_packets(way, &record::FlowSample::bytes), by_counter(counter)), 8e-6);
    made.source = fmt::format("flow samples of {0}, else {1} of {0}", node_.name, counter);
    add_known(std::move(made));
  }

  void add_retransmissions() {
    Track made = track("retransmissions", "sent again", "per_s");
    made.values = either(by_packets(0, &record::FlowSample::retransmitted_packets),
                         by_counter("tcp.RetransSegs"));
    made.source = fmt::format("flow samples of {0}, else tcp.RetransSegs of {0}", node_.name);
    add_known(std::move(made));
  }

  static bool is_meant(const Rule& rule, const SeriesData& series) {
    const bool is_all = series.row.subject == "all";
    return series.row.name == rule.series && !series.readings.empty() &&
           (rule.of == Of::All ? is_all : rule.of != Of::BusiestCore || !is_all);
  }

  void add_rule(const Rule& rule) {
    Track together = track(rule.group, rule.name, rule.unit);
    together.values = unknown_values(edges_);
    for (const SeriesData& series : node_.series) {
      if (!is_meant(rule, series)) {
        continue;
      }
      Values values = values_of(rule, series, edges_);
      together.source = source_of(rule, series, node_);
      if (rule.of == Of::Each) {
        Track own = together;
        own.subject = series.row.subject;
        own.values = std::move(values);
        add_if_worth(rule, std::move(own));
      } else {
        together.values = rule.of == Of::BusiestCore ? most_of(std::move(together.values), values)
                                                     : sum_of(std::move(together.values), values);
      }
    }
    add_if_worth(rule, std::move(together));
  }

  void add_if_worth(const Rule& rule, Track made) {
    if (!rule.only_if_any ||
        std::ranges::any_of(made.values, [](double value) { return value > 0; })) {
      add_known(std::move(made));
    }
  }

  void add_all_cores() {
    const SeriesData* all = node_.find(record::kCpuBusy, "all");
    const std::optional<double> count = number_of(node_, "cpu", "", "online");
    if (all == nullptr || count.value_or(0) < 1) {
      return;
    }
    Track made = track("cpu", "all cores", "percent");
    made.values = times(rate_of(*all, edges_), 1e-7 / *count);
    made.source = fmt::format("{} of {}, and how many cores it has", record::kCpuBusy, node_.name);
    add_known(std::move(made));
  }

  const TrackMaker& maker_;
  const std::size_t place_;
  const NodeData& node_;
  const Edges& edges_;
  std::vector<Track>& tracks_;
};

}  // namespace

std::vector<Track> node_tracks(const TrackMaker& maker) {
  std::vector<Track> tracks;
  for (std::size_t place = 0; place < maker.run().nodes.size(); ++place) {
    NodeTracks(maker, place, tracks).add();
  }
  return tracks;
}

}  // namespace chokepoint::analysis
