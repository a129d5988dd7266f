#include "capture/live/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/cli/text.h"
#include "capture/live/words.h"

namespace chokepoint::capture::live {
namespace {

constexpr std::string_view kBetween = " · ";

struct Part {
  int rank = 0;  // the highest is left out first
  std::string text = {};
};

std::string step_part(const step::Figures& steps) {
  if (!steps.last_ms || !steps.source) {
    return {};
  }
  return fmt::format("step {} ({})", step_text(*steps.last_ms), name_of(*steps.source));
}

std::string again_part(const Figures& figures) {
  return figures.sent_packets == 0
             ? std::string()
             : "again " + share_text(figures.retransmitted_packets, figures.sent_packets);
}

std::string held_part(const Figures& figures) {
  const std::string limit = limit_of(figures);
  return limit.empty() ? limit : "held by: " + limit;
}

// "GPU 97 % (power-cap, thermal)"
std::string gpu_part(const counter::Figures& counters) {
  if (!counters.gpu_percent) {
    return {};
  }
  std::string reasons;
  for (const auto& [reason, count] : counters.slowed_gpus) {
    reasons += count == 0 ? "" : (reasons.empty() ? "" : ", ") + reason;
  }
  return fmt::format("GPU {:.0f} %", *counters.gpu_percent) +
         (reasons.empty() ? "" : " (" + reasons + ")");
}

std::string samples_part(const step::Figures& steps) {
  return steps.samples_per_s ? fmt::format("{:.4g} samples/s", *steps.samples_per_s)
                             : std::string();
}

std::string missed_part(const Figures& figures) {
  const std::uint64_t missed = figures.packets_dropped + figures.rows_dropped;
  return missed == 0 ? std::string() : fmt::format("not seen {}", grouped(missed));
}

std::string traffic_part(const Figures& figures) {
  return figures.sockets.connections_ever == 0 && figures.volumes.empty()
             ? "no connection yet"
             : rates_text(figures.sent_mbps, figures.received_mbps);
}

// In the order in which they are read.
std::vector<Part> parts_of(const Figures& figures) {
  std::vector<Part> parts{{4, clock_text(figures.elapsed_s)}, {0, step_part(figures.steps)},
                          {6, samples_part(figures.steps)},   {1, traffic_part(figures)},
                          {3, again_part(figures)},           {5, missed_part(figures)},
                          {7, gpu_part(figures.counters)},    {2, held_part(figures)}};
  std::erase_if(parts, [](const Part& part) { return part.text.empty(); });
  return parts;
}

std::size_t width_of(const std::vector<Part>& parts) {
  std::size_t width = (parts.size() - 1) * cli::width_of(kBetween);
  for (const Part& part : parts) {
    width += cli::width_of(part.text);
  }
  return width;
}

std::string joined(const std::vector<Part>& parts) {
  std::string line;
  for (const Part& part : parts) {
    line.append(line.empty() ? "" : kBetween).append(part.text);
  }
  return line;
}

}  // namespace

std::string line_of(const Figures& figures, std::size_t columns) {
  std::vector<Part> parts = parts_of(figures);
  while (parts.size() > 1 && width_of(parts) > columns) {
    parts.erase(std::ranges::max_element(parts, {}, &Part::rank));
  }
  return width_of(parts) <= columns ? joined(parts) : std::string();
}

}  // namespace chokepoint::capture::live
