#include "analysis/load/sample_loader.h"

#include <algorithm>

#include "analysis/load/sample_keeper.h"
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
      : reader_(reader), plan_(plan), node_(node), keeper_(node) {}

  void load() {
    read<record::FlowSample>([this](const auto& row) { keeper_.keep(row, &FlowData::packets); });
    read<record::SocketSample>([this](const auto& row) { keeper_.keep(row, &FlowData::sockets); });
    read<record::FlowMark>([this](const auto& row) { keeper_.keep(row, &FlowData::marks); });
    read<record::CounterSample>([this](const auto& row) { keeper_.keep(row); });
    read<record::GaugeSample>([this](const auto& row) { keeper_.keep(row); });
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
  SampleKeeper keeper_;
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
