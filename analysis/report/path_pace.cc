#include "analysis/report/path_pace.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kCellNs = 20'000'000;  // as often as sockets are read
constexpr std::int64_t kPeakCells = 5;
constexpr double kLeastBusyNs = 50e6;  // the kernel's stopwatch ticks in 4 ms
constexpr std::int64_t kCoarseNs = 500'000'000;

std::size_t side_of(const DirectionView& view) { return static_cast<std::size_t>(view.direction); }

std::int64_t cell_of(std::int64_t t_ns) {
  return t_ns >= 0 ? t_ns / kCellNs : (t_ns - kCellNs + 1) / kCellNs;
}

double mbps_of(double bytes, double busy_ns) {
  return bytes * 8e3 / std::max(busy_ns, kLeastBusyNs);
}

// What a counter of the kernel grew by.
double grown(record::Figure before, record::Figure now) {
  return before.known() && now.known()
             ? std::max(0.0, static_cast<double>(now.value() - before.value()))
             : 0;
}

}  // namespace

void PathPace::spread(Span span, const Cell& passed, Part& part) {
  const std::int64_t length = span.length_ns();
  if (length <= 0 || length > kCoarseNs) {
    part.coarse.bytes += passed.bytes;
    part.coarse.busy_ns += passed.busy_ns;
    coarse_peak_mbps_ =
        std::max(coarse_peak_mbps_.value_or(0), mbps_of(passed.bytes, passed.busy_ns));
    return;
  }
  for (std::int64_t cell = cell_of(span.start_ns); cell * kCellNs < span.end_ns; ++cell) {
    if (part.cells.empty() || part.cells.back().number < cell) {
      part.cells.push_back({.number = cell});
    }
    const std::int64_t covered =
        std::min(span.end_ns, (cell + 1) * kCellNs) - std::max(span.start_ns, cell * kCellNs);
    const double share = static_cast<double>(covered) / static_cast<double>(length);
    part.cells.back().bytes += share * passed.bytes;
    part.cells.back().busy_ns += share * std::min(passed.busy_ns, static_cast<double>(length));
  }
}

void PathPace::add_sockets(const DirectionView& view, const Clocks& clocks, Part& part) {
  const auto& samples = view.at_sender->sockets.at(side_of(view));
  for (std::size_t next = 1; next < samples.size(); ++next) {
    const record::SocketSample& before = samples[next - 1];
    const record::SocketSample& now = samples[next];
    const Cell passed{.bytes = grown(before.bytes_acked, now.bytes_acked),
                      .busy_ns = 1e3 * grown(before.busy_us, now.busy_us)};
    if (passed.bytes > 0 || passed.busy_ns > 0) {
      spread(
          {clocks.common_ns(*view.sender, before.t_ns), clocks.common_ns(*view.sender, now.t_ns)},
          passed, part);
    }
  }
}

void PathPace::add_packets(const DirectionView& view, const Clocks& clocks, Part& part) {
  const bool has_receiver =
      view.at_receiver != nullptr && !view.at_receiver->packets.at(side_of(view)).empty();
  const std::size_t node = has_receiver ? *view.receiver : view.best_node();
  const FlowData& flow = has_receiver ? *view.at_receiver : view.best();
  for (const record::FlowSample& sample : flow.packets.at(side_of(view))) {
    if (sample.payload_bytes.value_or(0) > 0) {
      spread({clocks.common_ns(node, sample.t_ns - sample.bin_ns),
              clocks.common_ns(node, sample.t_ns)},
             {.bytes = static_cast<double>(sample.payload_bytes.value()),
              .busy_ns = static_cast<double>(sample.bin_ns)},
             part);
    }
  }
}

// Connections that had something under way in the same moment had it together.
void PathPace::take(const Part& part) {
  Cells all;
  all.reserve(cells_.size() + part.cells.size());
  std::ranges::merge(cells_, part.cells, std::back_inserter(all), {}, &Cell::number, &Cell::number);
  cells_.clear();
  for (const Cell& cell : all) {
    if (cells_.empty() || cells_.back().number != cell.number) {
      cells_.push_back(cell);
    } else {
      cells_.back().bytes += cell.bytes;
      cells_.back().busy_ns = std::max(cells_.back().busy_ns, cell.busy_ns);
    }
  }
  coarse_.bytes += part.coarse.bytes;
  coarse_.busy_ns = std::max(coarse_.busy_ns, part.coarse.busy_ns);
}

void PathPace::add(const DirectionView& view, const Clocks& clocks) {
  Part part;
  if (view.at_sender != nullptr && view.at_sender->sockets.at(side_of(view)).size() > 1) {
    add_sockets(view, clocks, part);
  } else {
    add_packets(view, clocks, part);
  }
  take(part);
}

std::optional<double> PathPace::peak_mbps() const {
  std::optional<double> most = coarse_peak_mbps_;
  auto first = cells_.begin();
  Cell sum;
  for (const Cell& cell : cells_) {
    sum.bytes += cell.bytes;
    sum.busy_ns += cell.busy_ns;
    for (; first->number <= cell.number - kPeakCells; ++first) {
      sum.bytes -= first->bytes;
      sum.busy_ns -= first->busy_ns;
    }
    most = std::max(most.value_or(0), mbps_of(sum.bytes, sum.busy_ns));
  }
  return most;
}

std::optional<double> PathPace::mean_busy_mbps() const {
  Cell sum = coarse_;
  for (const Cell& cell : cells_) {
    sum.bytes += cell.bytes;
    sum.busy_ns += cell.busy_ns;
  }
  return sum.busy_ns > 0 ? std::optional(sum.bytes * 8e3 / sum.busy_ns) : std::nullopt;
}

}  // namespace chokepoint::analysis
