#include "analysis/report/time_axis.h"

#include <algorithm>

#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {
namespace {

std::int64_t bin_length(std::int64_t length_ns, std::size_t bins, std::int64_t shortest_ns) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(bins, 1));
  return std::max(shortest_ns, (length_ns + count - 1) / count);
}

void add_edges(Span span, std::int64_t length_ns, std::vector<std::int64_t>& edges) {
  for (std::int64_t edge = span.start_ns; edge < span.end_ns; edge += length_ns) {
    edges.push_back(edge);
  }
  edges.push_back(span.end_ns);
}

}  // namespace

TimeAxis time_axis(Span whole, std::span<const Span> windows, std::size_t bins,
                   std::int64_t shortest_ns) {
  TimeAxis axis;
  if (whole.length_ns() <= 0) {
    return axis;
  }
  const Spans fine = common_to(windows, std::span(&whole, 1));
  const std::size_t coarse_bins = fine.empty() ? bins : bins / 2;
  add_edges(whole, bin_length(whole.length_ns(), coarse_bins, shortest_ns), axis.edges_ns);
  const std::int64_t fine_ns = bin_length(length_ns(fine), bins - coarse_bins, shortest_ns);
  for (const Span& window : fine) {
    std::erase_if(axis.edges_ns, [&](std::int64_t edge) {
      return edge > window.start_ns && edge < window.end_ns;
    });
    add_edges(window, fine_ns, axis.edges_ns);
  }
  std::ranges::sort(axis.edges_ns);
  const auto twice = std::ranges::unique(axis.edges_ns);
  axis.edges_ns.erase(twice.begin(), twice.end());
  return axis;
}

}  // namespace chokepoint::analysis
