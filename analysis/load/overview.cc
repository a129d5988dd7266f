#include "analysis/load/overview.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/load/node_loader.h"
#include "base/sys/parallel.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMinSpanNs = 40e6;     // twice the interval at which sockets are read
constexpr double kMaxSpanNs = 2'000e6;  // within which most series are written again

// A record that lost its sessions has no end, so no equal distances.
constexpr std::int64_t kEndlessNs = std::numeric_limits<std::int64_t>::max() / 2;

bool is_inside(const std::vector<Span>& windows, Span span) {
  return std::ranges::any_of(windows, [&](const Span& window) {
    return span.start_ns >= window.start_ns && span.end_ns <= window.end_ns;
  });
}

class OverviewOfNode {
 public:
  OverviewOfNode(record::Reader& reader, NodeData& node, const OverviewLimits& limits)
      : reader_(reader), node_(node), limits_(limits), sink_(node) {}

  void add() {
    const Result<record::Snapshot> still = reader_.snapshot();
    read<record::CounterSample>(limits_.spans, [this](const auto& row) { sink_.add(row); });
    read<record::GaugeSample>(limits_.spans, [this](const auto& row) { sink_.add(row); });
    read<record::SocketSample>(limits_.spans / 2,
                               [this](const auto& row) { sink_.add(row, &FlowData::sockets); });
    put_in_order();
  }

 private:
  // The length that has the rows wanted, if they are spread evenly.
  template <class Row>
  double span_ns() {
    Result<record::TimeSearch> search = reader_.search<Row>();
    const auto before = [&](std::int64_t t_ns) {
      return search ? search->rows_before(t_ns).value_or(0) : 0;
    };
    const auto rows = static_cast<double>(before(node_.span.end_ns) - before(node_.span.start_ns));
    const double length = static_cast<double>(node_.span.length_ns());
    return std::clamp(length * static_cast<double>(limits_.rows_of_span) / std::max(rows, 1.0),
                      kMinSpanNs, kMaxSpanNs);
  }

  std::vector<Span> spans_of(std::size_t count, double span_ns) const {
    std::vector<Span> spans;
    const double apart = static_cast<double>(node_.span.length_ns()) / static_cast<double>(count);
    for (std::size_t number = 0; number <= count; ++number) {
      const auto end_ns = node_.span.start_ns + std::llround(apart * static_cast<double>(number));
      // A row at the end of the span before is not read twice.
      const Span span{end_ns - std::llround(std::min(span_ns, apart)) + 1, end_ns};
      if (!is_inside(node_.windows, span)) {
        spans.push_back(span);
      }
    }
    return spans;
  }

  // A window into which a span reaches has its rows already.
  template <class Row, class F>
  void read(std::size_t count, F&& add_row) {
    const std::vector<Span> spans = spans_of(count, span_ns<Row>());
    const Result<> done = reader_.each_in<Row>(spans, [&](const Row& row) {
      if (!is_inside(node_.windows, {record::end_of(row), record::end_of(row)})) {
        add_row(row);
      }
    });
    if (!done && !node_.damage) {
      node_.damage = done.error();
    }
  }

  // The first readings of a series are always read, so they may be there twice.
  void put_in_order() {
    for (SeriesData& series : node_.series) {
      std::ranges::stable_sort(series.readings, {}, &Reading::t_ns);
      const auto twice = std::ranges::unique(series.readings, {}, &Reading::t_ns);
      series.readings.erase(twice.begin(), twice.end());
    }
    for (FlowData& flow : node_.flows) {
      for (auto& samples : flow.sockets) {
        std::ranges::stable_sort(samples, {}, &record::SocketSample::t_ns);
      }
    }
  }

  record::Reader& reader_;
  NodeData& node_;
  const OverviewLimits& limits_;
  SampleSink sink_;
};

}  // namespace

void add_overview(record::Run& records, RunData& run, const OverviewLimits& limits) {
  sys::for_each_in_parallel("load", run.nodes.size(), [&](std::size_t node) {
    const bool has_end = run.nodes[node].span.end_ns < kEndlessNs;
    if (!run.nodes[node].windows.empty() && has_end) {
      OverviewOfNode(records.nodes[node], run.nodes[node], limits).add();
    }
  });
}

}  // namespace chokepoint::analysis
