#include "analysis/report/path_pace.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kCellNs = 100'000'000;
constexpr std::int64_t kMostApartNs = 1'000'000'000;

std::size_t side_of(const DirectionView& view) { return static_cast<std::size_t>(view.direction); }

std::int64_t cell_of(std::int64_t t_ns) {
  return t_ns >= 0 ? t_ns / kCellNs : (t_ns - kCellNs + 1) / kCellNs;
}

// Of a record that was read in windows, what lies between two of them tells no moment's pace.
bool is_gap(const record::SocketSample& before, const record::SocketSample& now) {
  return now.t_ns - before.t_ns > std::max(kMostApartNs, 2 * now.bin_ns);
}

// What a counter of the kernel grew by; a connection that was there before is not this moment's.
double grown(record::Figure before, record::Figure now) {
  return before.known() && now.known()
             ? std::max(0.0, static_cast<double>(now.value() - before.value()))
             : 0;
}

}  // namespace

void PathPace::spread(Span span, double bytes, double busy_ns, Cells& cells) const {
  const auto length = static_cast<double>(span.length_ns());
  if (length <= 0) {
    cells[cell_of(span.end_ns)].bytes += bytes;
    return;
  }
  for (std::int64_t cell = cell_of(span.start_ns); cell * kCellNs < span.end_ns; ++cell) {
    const std::int64_t part =
        std::min(span.end_ns, (cell + 1) * kCellNs) - std::max(span.start_ns, cell * kCellNs);
    const double share = static_cast<double>(part) / length;
    cells[cell].bytes += share * bytes;
    cells[cell].busy_ns += share * std::min(busy_ns, length);
  }
}

void PathPace::add_sockets(const DirectionView& view, const Clocks& clocks, Cells& cells) const {
  const auto& samples = view.at_sender->sockets.at(side_of(view));
  for (std::size_t next = 1; next < samples.size(); ++next) {
    const record::SocketSample& before = samples[next - 1];
    const record::SocketSample& now = samples[next];
    const double bytes = grown(before.bytes_acked, now.bytes_acked);
    const double busy_ns = 1e3 * grown(before.busy_us, now.busy_us);
    if ((bytes > 0 || busy_ns > 0) && !is_gap(before, now)) {
      spread(
          {clocks.common_ns(*view.sender, before.t_ns), clocks.common_ns(*view.sender, now.t_ns)},
          bytes, busy_ns, cells);
    }
  }
}

void PathPace::add_packets(const DirectionView& view, const Clocks& clocks, Cells& cells) const {
  const bool has_receiver =
      view.at_receiver != nullptr && !view.at_receiver->packets.at(side_of(view)).empty();
  const std::size_t node = has_receiver ? *view.receiver : view.best_node();
  const FlowData& flow = has_receiver ? *view.at_receiver : view.best();
  for (const record::FlowSample& sample : flow.packets.at(side_of(view))) {
    const auto bytes = static_cast<double>(sample.payload_bytes.value_or(0));
    if (bytes > 0) {
      const Span span{clocks.common_ns(node, sample.t_ns - sample.bin_ns),
                      clocks.common_ns(node, sample.t_ns)};
      spread(span, bytes, static_cast<double>(sample.bin_ns), cells);
    }
  }
}

void PathPace::add(const DirectionView& view, const Clocks& clocks) {
  Cells cells;
  if (view.at_sender != nullptr && view.at_sender->sockets.at(side_of(view)).size() > 1) {
    add_sockets(view, clocks, cells);
  } else {
    add_packets(view, clocks, cells);
  }
  for (const auto& [number, cell] : cells) {
    Cell& all = cells_[number];
    all.bytes += cell.bytes;
    all.busy_ns = std::max(all.busy_ns, cell.busy_ns);
  }
}

std::optional<double> PathPace::peak_mbps() const {
  std::optional<double> most;
  for (const auto& [number, cell] : cells_) {
    most = std::max(most.value_or(0), cell.bytes * 8e3 / static_cast<double>(kCellNs));
  }
  return most;
}

std::optional<double> PathPace::mean_busy_mbps() const {
  double bytes = 0;
  double busy_ns = 0;
  for (const auto& [number, cell] : cells_) {
    bytes += cell.bytes;
    busy_ns += cell.busy_ns;
  }
  return busy_ns > 0 ? std::optional(bytes * 8e3 / busy_ns) : std::nullopt;
}

}  // namespace chokepoint::analysis
