#include <optional>
#include <unordered_map>

#include "analysis/export/formats.h"
#include "analysis/load/run_summary.h"
#include "base/math/saturating.h"
#include "base/math/units.h"
#include "base/metrics/series_metric.h"
#include "base/record/names.h"
#include "base/record/series_table.h"

namespace chokepoint::analysis {
namespace {

using metrics::Labels;
using metrics::MetricText;

constexpr double kMsPerSecond = 1e3;

std::optional<double> seconds_of(std::optional<double> ms) {
  return ms ? std::optional(*ms / kMsPerSecond) : std::nullopt;
}

std::int64_t rows_dropped(const NodeData& node) {
  std::int64_t rows = 0;
  for (const record::Event& event : node.events) {
    rows = math::saturated_sum(rows, event.kind == record::kDropped ? dropped_rows(event) : 0);
  }
  return rows;
}

class Figures {
 public:
  Figures(ExportedRun& run, const Diagnosis& diagnosis)
      : run_(run), diagnosis_(diagnosis), text_({{"run", run.name()}}) {}

  MetricText made() {
    for (std::size_t node = 0; node < run_.nodes(); ++node) {
      add_node(node);
    }
    add_steps();
    add_verdict();
    for (std::size_t node = 0; node < run_.nodes(); ++node) {
      add_packets(run_.data().nodes[node]);
      add_counters(node);
    }
    return std::move(text_);
  }

 private:
  void add_node(std::size_t place) {
    const NodeData& node = run_.data().nodes[place];
    const Labels own{{"node", node.name}};
    Labels info = own;
    const auto& sessions = run_.reader(place).sessions();
    info.emplace_back("version", sessions.empty() ? "" : sessions.back().program);
    metrics::add_run_labels(info, node.labels);
    text_.gauge("run_info", "Always 1; the run's labels, each with label_ before its name.", 1,
                info);
    const bool has_span = node.span.end_ns < kFarNs;
    text_.gauge("run_elapsed_seconds", "From the job's start to its end.",
                has_span
                    ? std::optional(static_cast<double>(node.span.length_ns()) / math::kNsPerSecond)
                    : std::nullopt,
                own);
    text_.gauge(
        "run_exit_status", "Of the job's command.",
        node.exit_status ? std::optional(static_cast<double>(*node.exit_status)) : std::nullopt,
        own);
    text_.gauge("run_complete", "1 where the job was watched to its end.", node.is_complete ? 1 : 0,
                own);
    text_.counter("dropped_rows_total", "Rows that were not stored in the record.",
                  static_cast<double>(rows_dropped(node)), own);
  }

  void add_steps() {
    const StepTimes& steps = diagnosis_.steps;
    if (!steps.source) {
      return;
    }
    const Labels source{{"source", std::string(name_of(*steps.source))}};
    text_.counter("steps_total", "Of the rank that has most.", static_cast<double>(steps.count),
                  source);
    text_.gauge("step_mean_seconds", "Of the steps that are accounted for.",
                seconds_of(steps.mean_ms), source);
    text_.gauge("step_median_seconds", "Of the steps that are accounted for.",
                seconds_of(steps.median_ms), source);
    text_.gauge("step_p99_seconds", "Of the steps that are accounted for.",
                seconds_of(steps.p99_ms), source);
    for (std::size_t account = 0; diagnosis_.accounting && account < kAccounts; ++account) {
      text_.gauge("step_account_seconds", "Where a step's time goes; sums to the step.",
                  diagnosis_.accounting->ms.at(account) / kMsPerSecond,
                  {{"account", name_of(static_cast<Account>(account))}});
    }
    for (const RankFigures& rank : diagnosis_.ranks) {
      const Labels own{{"node", rank.node}, {"rank", std::to_string(rank.rank)}};
      text_.gauge("rank_computing_seconds", "Of a step.", rank.computing_ms / kMsPerSecond, own);
      text_.gauge("rank_waiting_seconds", "Of a step, for other ranks.",
                  rank.waiting_ms / kMsPerSecond, own);
      text_.gauge("rank_communicating_seconds", "Of a step, of what computing does not hide.",
                  rank.communicating_ms / kMsPerSecond, own);
    }
  }

  void add_verdict() {
    const Verdict& verdict = diagnosis_.verdict;
    const Labels own{{"class", name_of(verdict.verdict)}, {"cause", name_of(verdict.cause)}};
    Labels where = own;
    where.insert(where.end(), {{"from", verdict.where.from},
                               {"to", verdict.where.to},
                               {"direction", verdict.where.direction},
                               {"interface", verdict.where.interface},
                               {"node", verdict.where.node},
                               {"rank", verdict.where.rank ? std::to_string(*verdict.where.rank)
                                                           : std::string()}});
    text_.gauge("verdict_info", "Always 1; what held the run back, and where.", 1, where);
    text_.gauge("verdict_lost_step_seconds", "Of each step, that a change could take away.",
                verdict.lost_ms_per_step / kMsPerSecond, own);
    text_.gauge("verdict_share_ratio", "Of the step.", verdict.share_percent / math::kPercent, own);
    text_.gauge("verdict_confidence_ratio", "Confidence of the verdict.", verdict.confidence, own);
  }

  // Packets that the node sent itself; both directions of a connection whose two ends are here.
  void add_packets(const NodeData& node) {
    std::optional<double> sent;
    std::optional<double> retransmitted;
    for (const FlowData& flow : node.flows) {
      for (const record::FlowTotal& total : flow.totals) {
        const auto side = static_cast<std::int64_t>(total.direction);
        if (flow.row.local_end.known() && flow.row.local_end.value() != side) {
          continue;
        }
        const auto add = [](std::optional<double>& sum, record::Figure figure) {
          if (figure.known()) {
            sum = sum.value_or(0) + static_cast<double>(figure.value());
          }
        };
        add(sent, total.packets);
        add(retransmitted, total.retransmitted_packets);
      }
    }
    const Labels own{{"node", node.name}};
    text_.counter("sent_packets_total", "Of the job.", sent, own);
    text_.counter("retransmitted_packets_total", "Of the job.", retransmitted, own);
    text_.counter("job_connections_total", "Of the job, ever.",
                  static_cast<double>(node.flows.size()), own);
  }

  void add_counters(std::size_t place) {
    std::unordered_map<std::int64_t, double> last;
    run_.each<record::CounterSample>(
        place, [&](const record::CounterSample& row) { last[row.series] = row.value; });
    const NodeData& node = run_.data().nodes[place];
    for (const SeriesData& series : node.series) {
      if (const auto value = last.find(series.row.id); value != last.end()) {
        add_counter(node, series.row, value->second);
      }
    }
  }

  void add_counter(const NodeData& node, const record::Series& series, double value) {
    const record::SeriesDescription* row = record::describe_series(series.name);
    if (row != nullptr && !row->metric.name.empty()) {
      metrics::add_series(text_, *row, series.subject, value, {{"node", node.name}});
    } else if (series.name == record::kOwnCpu && node.span.end_ns < kFarNs &&
               node.span.length_ns() > 0) {
      text_.gauge("own_cpu_ratio", "Share of one core that chokepoint used.",
                  value / static_cast<double>(node.span.length_ns()), {{"node", node.name}});
    }
  }

  ExportedRun& run_;
  const Diagnosis& diagnosis_;
  MetricText text_;
};

}  // namespace

metrics::MetricText metrics_of(ExportedRun& run, const Diagnosis& diagnosis) {
  return Figures(run, diagnosis).made();
}

std::string prometheus_text(ExportedRun& run, const Diagnosis& diagnosis) {
  return metrics_of(run, diagnosis).text();
}

}  // namespace chokepoint::analysis
