#include "analysis/attribution/rdma_flows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/phases/waits.h"

namespace chokepoint::analysis {
namespace {

using Pair = std::pair<std::string, std::string>;

// Of all queue pairs of a way in one bin.
struct Moved {
  double bytes = 0;
  double resent_bytes = 0;
  double inside_ns = 0;

  double resending_ns() const { return bytes > 0 ? inside_ns * resent_bytes / bytes : 0; }
};

// What one way says of itself, and of the other way by answering it.
struct Counted {
  RoceWay way = {};
  double filled = 0;    // gaps in it
  double reported = 0;  // packets of the other way that its sender missed
  Spans marked = {};
  std::map<std::pair<std::int64_t, std::int64_t>, Moved> bins = {};
};

class Sight {
 public:
  Sight(const Clocks& clocks, const StepLine& steps)
      : clocks_(clocks), inside_(united(steps.settled)) {}

  void add(const FlowData& flow, std::size_t node, const Connection& connection) {
    for (const std::size_t side : {0U, 1U}) {
      Counted& counted = ways_[{connection.names.at(side), connection.names.at(1 - side)}];
      for (const record::FlowSample& sample : flow.packets.at(side)) {
        count(sample, node, counted);
      }
      for (const Span& wait : waits_of(flow.packets.at(side))) {
        waits_.push_back(common(wait, node));
      }
    }
  }

  RoceView view() && {
    RoceView view;
    for (auto& [pair, counted] : ways_) {
      const auto back = ways_.find({pair.second, pair.first});
      const double reported = back == ways_.end() ? 0 : back->second.reported;
      counted.way.from = pair.first;
      counted.way.to = pair.second;
      counted.way.missing = std::max(counted.filled, reported);
      add_times(counted);
    }
    for (auto& [pair, counted] : ways_) {
      if (counted.way.packets > 0) {
        view.ways.push_back(std::move(counted.way));
      }
    }
    const Spans waited = common_to(united(std::move(waits_)), inside_);
    view.waited_ns = static_cast<double>(length_ns(waited));
    return view;
  }

 private:
  // Queue pairs that send side by side share the time.
  void add_times(Counted& counted) const {
    const Spans marked = common_to(united(std::move(counted.marked)), inside_);
    counted.way.marked_ns = static_cast<double>(length_ns(marked));
    for (const auto& [bin, moved] : counted.bins) {
      counted.way.resending_ns += moved.resending_ns();
    }
  }

  Span common(const Span& span, std::size_t node) const {
    return {clocks_.common_ns(node, span.start_ns), clocks_.common_ns(node, span.end_ns)};
  }

  void count(const record::FlowSample& sample, std::size_t node, Counted& counted) const {
    const Span span = common({sample.t_ns - sample.bin_ns, sample.t_ns}, node);
    const auto inside_ns = static_cast<double>(covered_ns(inside_, span));
    if (inside_ns <= 0) {
      return;
    }
    const auto add = [](const record::Figure& figure, double& sum) {
      sum += static_cast<double>(figure.value_or(0));
    };
    add(sample.packets, counted.way.packets);
    add(sample.payload_bytes, counted.way.payload_bytes);
    add(sample.retransmitted_packets, counted.way.resent_packets);
    add(sample.congestion_marks, counted.way.marks);
    add(sample.out_of_order, counted.filled);
    add(sample.duplicate_acks, counted.reported);
    if (sample.congestion_marks.value_or(0) > 0) {
      counted.marked.push_back(span);
    }
    Moved& moved = counted.bins[{span.start_ns, span.end_ns}];
    const auto bytes = static_cast<double>(sample.payload_bytes.value_or(0));
    moved.bytes += bytes;
    moved.resent_bytes += resent_share(sample) * bytes;
    moved.inside_ns = inside_ns;
  }

  const Clocks& clocks_;
  Spans inside_;
  Spans waits_;
  std::map<Pair, Counted> ways_;
};

template <class Measure>
const RoceWay* most_by(const std::vector<RoceWay>& ways, Measure measure) {
  const auto most = std::ranges::max_element(ways, {}, measure);
  return most == ways.end() || (*most.*measure)() <= 0 ? nullptr : &*most;
}

}  // namespace

double RoceView::loss_ns() const {
  double resending_ns = 0;
  for (const RoceWay& way : ways) {
    resending_ns = std::max(resending_ns, way.resending_ns);
  }
  return waited_ns + resending_ns;
}

const RoceWay* RoceView::most_lossy() const { return most_by(ways, &RoceWay::lossiness); }

const RoceWay* RoceView::most_marked() const { return most_by(ways, &RoceWay::markedness); }

RoceView roce_view(const RunData& run, const Clocks& clocks, const StepLine& steps) {
  Sight sight(clocks, steps);
  for (const Connection& connection : run.connections) {
    const auto end = telling_end(run, connection, clocks.reference);
    if (end && is_roce(run.nodes[end->node].flows[end->flow])) {
      sight.add(run.nodes[end->node].flows[end->flow], end->node, connection);
    }
  }
  return std::move(sight).view();
}

}  // namespace chokepoint::analysis
