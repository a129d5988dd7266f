#include "analysis/limits/path_pace.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {
namespace {

std::int64_t pace_cell_of(std::int64_t t_ns) {
  return t_ns >= 0 ? t_ns / kPaceCellNs : (t_ns - kPaceCellNs + 1) / kPaceCellNs;
}

double mbps_of(double bytes, std::int64_t cells) {
  return bytes * 8e3 / static_cast<double>(cells * kPaceCellNs);
}

}  // namespace

void PathPace::spread(Span span, double bytes, Cells& cells) {
  const std::int64_t length = std::max<std::int64_t>(span.length_ns(), 1);
  if (length > kMinCoarseSampleNs) {
    const double mbps = bytes * 8e3 / static_cast<double>(length);
    coarse_peak_mbps_ = std::max(coarse_peak_mbps_.value_or(0), mbps);
    return;
  }
  const std::int64_t start_ns = span.end_ns - length;
  for (std::int64_t cell = pace_cell_of(start_ns); cell * kPaceCellNs < span.end_ns; ++cell) {
    const std::int64_t covered =
        std::min(span.end_ns, (cell + 1) * kPaceCellNs) - std::max(start_ns, cell * kPaceCellNs);
    if (cells.empty() || cells.back().number < cell) {
      cells.push_back({.number = cell});
    }
    cells.back().bytes += bytes * static_cast<double>(covered) / static_cast<double>(length);
  }
}

void PathPace::add_packets(const FlowData& flow, std::size_t node, const DirectionView& view,
                           const Clocks& clocks, Cells& cells) {
  for (const record::FlowSample& sample : flow.packets.at(side_of(view))) {
    if (sample.payload_bytes.value_or(0) > 0) {
      // The length of the bin, not the difference of two converted times: clocks drift.
      const std::int64_t end_ns = clocks.common_ns(node, sample.t_ns);
      spread({end_ns - sample.bin_ns, end_ns}, static_cast<double>(sample.payload_bytes.value()),
             cells);
    }
  }
}

void PathPace::add_sockets(const DirectionView& view, const Clocks& clocks, Cells& cells) {
  const auto& samples = view.at_sender->sockets.at(side_of(view));
  for (std::size_t next = 1; next < samples.size(); ++next) {
    const record::SocketSample& before = samples[next - 1];
    const record::SocketSample& now = samples[next];
    const std::int64_t bytes = now.bytes_acked.value_or(0) - before.bytes_acked.value_or(0);
    if (before.bytes_acked.known() && now.bytes_acked.known() && bytes > 0) {
      spread(
          {clocks.common_ns(*view.sender, before.t_ns), clocks.common_ns(*view.sender, now.t_ns)},
          static_cast<double>(bytes), cells);
    }
  }
}

void PathPace::take(const Cells& cells) {
  Cells all;
  all.reserve(cells_.size() + cells.size());
  std::ranges::merge(cells_, cells, std::back_inserter(all), {}, &Cell::number, &Cell::number);
  cells_.clear();
  for (const Cell& cell : all) {
    if (cells_.empty() || cells_.back().number != cell.number) {
      cells_.push_back(cell);
    } else {
      cells_.back().bytes += cell.bytes;
    }
  }
}

void PathPace::add(const DirectionView& view, const Clocks& clocks) {
  const auto has_packets = [&](const FlowData* flow) {
    return flow != nullptr && !flow->packets.at(side_of(view)).empty();
  };
  Cells cells;
  if (has_packets(view.at_receiver)) {
    add_packets(*view.at_receiver, *view.receiver, view, clocks, cells);
  } else if (has_packets(view.at_sender)) {
    add_packets(*view.at_sender, *view.sender, view, clocks, cells);
  } else if (view.at_sender != nullptr) {
    add_sockets(view, clocks, cells);
  }
  take(cells);
}

// Runs of cells with data. Small messages, by which ranks agree before an exchange, are ignored.
std::vector<PathPace::Run> PathPace::runs(std::int64_t longest_pause) const {
  const double least = kMinShareOfFullest * most_in(1);
  std::vector<Run> runs;
  std::int64_t last = 0;
  for (const Cell& cell : cells_) {
    if (cell.bytes < least) {
      continue;
    }
    if (runs.empty() || cell.number - last - 1 > longest_pause) {
      runs.push_back({});
      last = cell.number - 1;
    }
    runs.back().cells += cell.number - last;
    runs.back().bytes += cell.bytes;
    last = cell.number;
  }
  return runs;
}

// The most bytes in a window of so many cells.
double PathPace::most_in(std::int64_t window) const {
  double most = 0;
  double sum = 0;
  auto first = cells_.begin();
  for (const Cell& cell : cells_) {
    sum += cell.bytes;
    for (; first->number <= cell.number - window; ++first) {
      sum -= first->bytes;
    }
    most = std::max(most, sum);
  }
  return most;
}

Pace PathPace::pace(std::optional<double> rtt_ms) const {
  if (cells_.empty()) {
    return {.peak_mbps = coarse_peak_mbps_};
  }
  std::vector<Run> all = runs(std::llround(rtt_ms.value_or(0) * 1e6 / kPaceCellNs));
  std::ranges::sort(all, {}, &Run::cells);
  Run sum;
  for (const Run& run : all) {
    sum.cells += run.cells;
    sum.bytes += run.bytes;
  }
  // The peak is taken over the length of the run in which the median byte arrived.
  std::int64_t window = 1;
  double longer = sum.bytes;
  for (const Run& run : all) {
    window = longer > sum.bytes / 2 ? run.cells : window;
    longer -= run.bytes;
  }
  window = std::clamp<std::int64_t>(window, 1, kPeakCells);
  const double mean = mbps_of(sum.bytes, sum.cells);
  const double peak = std::max(mbps_of(most_in(window), window), mean);
  return {.peak_mbps = std::max(peak, coarse_peak_mbps_.value_or(0)), .mean_mbps = mean};
}

}  // namespace chokepoint::analysis
