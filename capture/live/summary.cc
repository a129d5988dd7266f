#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "base/math/units.h"
#include "capture/live/line.h"
#include "capture/live/words.h"

namespace chokepoint::capture::live {
namespace {

constexpr double kBits = 8;

// One line, its name in a column of its own.
void add(std::string& text, std::string_view name, std::string_view value) {
  text += fmt::format("  {:<11} {}\n", name, value);
}

void add_steps(std::string& text, const step::Figures& steps) {
  if (!steps.source || steps.count == 0) {
    add(text, "steps", "none were told of; mark them with 'chokepoint mark step' or --step-regex");
    return;
  }
  std::string value = fmt::format("{} by {}", grouped(static_cast<std::uint64_t>(steps.count)),
                                  name_of(*steps.source));
  if (steps.median_ms) {
    value += fmt::format(", median {}", step_text(*steps.median_ms));
  }
  if (steps.samples_per_s) {
    value += fmt::format(", {:.4g} samples/s", *steps.samples_per_s);
  }
  add(text, "steps", value);
}

bool is_loopback(const Volume& volume) { return volume.interface == "lo"; }

// What stays inside the host is neither sent nor received by it, unless there is nothing else.
std::vector<Volume> counted(const Figures& figures) {
  std::vector<Volume> volumes = figures.volumes;
  if (!std::ranges::all_of(volumes, is_loopback)) {
    std::erase_if(volumes, is_loopback);
  }
  return volumes;
}

void add_volume(std::string& text, const Figures& figures) {
  double sent = 0;
  double received = 0;
  const std::vector<Volume> volumes = counted(figures);
  for (const Volume& volume : volumes) {
    sent += static_cast<double>(volume.sent_bytes);
    received += static_cast<double>(volume.received_bytes);
    add(text, "volume",
        fmt::format("{} out {} in {}, by {}", volume.interface,
                    math::format_bytes(static_cast<double>(volume.sent_bytes)),
                    math::format_bytes(static_cast<double>(volume.received_bytes)),
                    figures.volume_source));
  }
  if (volumes.empty() || figures.elapsed_s <= 0) {
    return;
  }
  const auto rate = [&](double bytes) {
    return math::format_rate(bytes * kBits / figures.elapsed_s);
  };
  add(text, "throughput",
      fmt::format("{} full duplex, out {} in {}, over {}", rate(sent + received), rate(sent),
                  rate(received), clock_text(figures.elapsed_s)));
}

void add_retransmissions(std::string& text, const Figures& figures) {
  if (figures.sent_packets > 0) {
    add(text, "sent again",
        fmt::format("{} of {} packets, {}", grouped(figures.retransmitted_packets),
                    grouped(figures.sent_packets),
                    share_text(figures.retransmitted_packets, figures.sent_packets)));
  }
}

void add_unseen(std::string& text, const Figures& figures) {
  if (figures.packets_dropped > 0) {
    add(text, "not seen",
        fmt::format("{} packets, dropped before they could be looked at",
                    grouped(figures.packets_dropped)));
  }
  if (figures.rows_dropped > 0) {
    add(text, "not kept", fmt::format("{} rows of the record", grouped(figures.rows_dropped)));
  }
  std::set<std::string> told;
  for (const auto* remarks :
       {&figures.remarks, &figures.sockets.remarks, &figures.counters.remarks}) {
    for (const std::string& remark : *remarks) {
      if (told.insert(remark).second) {
        add(text, "not seen", remark);
      }
    }
  }
}

void add_record(std::string& text, const std::string& record_path) {
  const std::string folder = std::filesystem::path(record_path).parent_path().string();
  add(text, "record", record_path);
  add(text, "next", "chokepoint record show " + (folder.empty() ? "." : folder));
}

}  // namespace

std::string summary_of(const Figures& figures, const std::string& record_path) {
  std::string text =
      fmt::format("chokepoint: {} watched for {}\n",
                  figures.node.empty() ? "the job" : figures.node, clock_text(figures.elapsed_s));
  add_steps(text, figures.steps);
  add_volume(text, figures);
  add_retransmissions(text, figures);
  add_unseen(text, figures);
  if (figures.counters.own_cpu_percent) {
    add(text, "watching",
        fmt::format("took {:.1f} % of a core", *figures.counters.own_cpu_percent));
  }
  add_record(text, record_path);
  return text;
}

}  // namespace chokepoint::capture::live
