#include "analysis/report/probe_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/report/probed_path.h"

namespace chokepoint::analysis {
namespace {

struct ComparedFigure {
  const char* what;
  const char* unit;
  std::optional<double> ProbedWay::* of_probe;
  std::optional<double> PathPicture::* of_job;
};

constexpr std::array kComparedFigures{
    ComparedFigure{"throughput", "mbps", &ProbedWay::throughput_mbps, &PathPicture::reached_mbps},
    ComparedFigure{"round trip under load", "ms", &ProbedWay::loaded_rtt_ms,
                   &PathPicture::median_rtt_ms},
    ComparedFigure{"loss", "percent", &ProbedWay::loss_percent,
                   &PathPicture::retransmitted_percent}};

// Of one probe.
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
              .source = fmt::format("probe {} {} of {}", probe.id, probe.kind, node.name)};
  }

  std::vector<ProbeLine> make() {
    for (const ProbeWay way : {ProbeWay::Send, ProbeWay::Receive}) {
      const PathPicture* path = path_there(way);
      for (const ComparedFigure& figure : kComparedFigures) {
        add(figure.what, figure.unit, document_.way(way).*(figure.of_probe),
            path == nullptr ? std::nullopt : path->*(figure.of_job),
            way == ProbeWay::Send ? "send" : "receive");
      }
    }
    add("least round trip", "ms", document_.least_rtt_ms, least_rtt_of_job(), "");
    return std::move(lines_);
  }

 private:
  // Null where the job did not go that way.
  const PathPicture* path_there(ProbeWay way) const {
    const auto found = std::ranges::find_if(
        paths_, [&](const PathPicture& path) { return probed_.is_on(path, way); });
    return found == paths_.end() ? nullptr : &*found;
  }

  std::optional<double> least_rtt_of_job() const {
    for (const ProbeWay way : {ProbeWay::Send, ProbeWay::Receive}) {
      if (const PathPicture* path = path_there(way); path != nullptr && path->min_rtt_ms) {
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
        continue;  // tells of the host, not of a path
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
