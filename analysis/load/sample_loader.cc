#include "analysis/load/sample_loader.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analysis/load/totals.h"

namespace chokepoint::analysis {
namespace {

// A series begins with what is so at first, and may not change again.
constexpr std::int64_t kFirstReadingsNs = 5'000'000'000;

template <class Row>
constexpr std::size_t kTable = [] {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    std::size_t found = 0;
    ((found = std::is_same_v<Row, std::tuple_element_t<Index, LargeTables>> ? Index : found), ...);
    return found;
  }(std::make_index_sequence<kLargeTables>());
}();

template <class Row>
void put_in_order(std::vector<Row>& rows) {
  const auto end = [](const Row& row) { return record::end_of(row); };
  if (!std::ranges::is_sorted(rows, {}, end)) {
    std::ranges::stable_sort(rows, {}, end);
  }
}

// What could not be read to its end is damaged, whatever else was found.
void note(const Result<>& done, NodeData& node) {
  if (!done && !node.damage) {
    node.damage = done.error();
    node.is_complete = false;
  }
}

class SampleLoader {
 public:
  SampleLoader(record::Reader& reader, const SamplePlan& plan, NodeData& node)
      : reader_(reader), plan_(plan), node_(node) {
    for (FlowData& flow : node.flows) {
      flows_.emplace(flow.row.id, &flow);
    }
    for (SeriesData& series : node.series) {
      series_.emplace(series.row.id, &series);
    }
  }

  void load() {
    read<record::FlowSample>([this](const auto& row) { keep(row, &FlowData::packets); });
    read<record::SocketSample>([this](const auto& row) { keep(row, &FlowData::sockets); });
    read<record::FlowMark>([this](const auto& row) { keep(row, &FlowData::marks); });
    read<record::CounterSample>([this](const auto& row) { keep(row, row.peak_per_s, 0); });
    read<record::GaugeSample>([this](const auto& row) { keep(row, row.peak, row.value); });
    read<record::Collective>([this](const auto& row) { node_.collectives.push_back(row); });
    put_together();
    node_.windows = plan_.windows;
  }

 private:
  template <class Row, class F>
  void read(F&& keep_row) {
    std::vector<Span> spans = plan_.windows;
    if (plan_.is_whole.at(kTable<Row>)) {
      spans = {plan_.whole};
    } else if constexpr (requires(const Row& row) { row.series; }) {
      if (spans.empty() || first_readings().end_ns < spans[0].start_ns) {
        spans.insert(spans.begin(), first_readings());
      }
    }
    note(reader_.each_in<Row>(spans, keep_row), node_);
  }

  Span first_readings() const {
    return {plan_.whole.start_ns, node_.span.start_ns + kFirstReadingsNs};
  }

  template <class Row>
  void keep(const Row& row, std::array<std::vector<Row>, 2> FlowData::* where) {
    const auto flow = flows_.find(row.flow);
    const auto side = static_cast<std::size_t>(row.direction);
    if (flow != flows_.end() && side < 2) {
      (flow->second->*where).at(side).push_back(row);
    }
  }

  template <class Row>
  void keep(const Row& row, double peak, double otherwise) {
    const auto series = series_.find(row.series);
    if (series != series_.end() && !std::isnan(row.value)) {
      series->second->readings.push_back({.t_ns = row.t_ns,
                                          .bin_ns = row.bin_ns,
                                          .value = row.value,
                                          .peak = std::isnan(peak) ? otherwise : peak});
    }
  }

  void put_together() {
    for (FlowData& flow : node_.flows) {
      for (const std::size_t side : {0U, 1U}) {
        put_in_order(flow.packets.at(side));
        put_in_order(flow.sockets.at(side));
        put_in_order(flow.marks.at(side));
      }
      complete_totals(flow);
    }
    for (SeriesData& series : node_.series) {
      put_in_order(series.readings);
    }
    put_in_order(node_.collectives);
  }

  record::Reader& reader_;
  const SamplePlan& plan_;
  NodeData& node_;
  std::unordered_map<std::int64_t, FlowData*> flows_;
  std::unordered_map<std::int64_t, SeriesData*> series_;
};

}  // namespace

void load_steps(record::Reader& reader, NodeData& node) {
  note(reader.each_in<record::Step>({with_slack(node.span)},
                                    [&](const record::Step& step) { node.steps.push_back(step); }),
       node);
  put_in_order(node.steps);
}

void load_samples(record::Reader& reader, const SamplePlan& plan, NodeData& node) {
  SampleLoader(reader, plan, node).load();
}

}  // namespace chokepoint::analysis
