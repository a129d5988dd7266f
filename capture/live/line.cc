#include "capture/live/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "base/cli/text.h"
#include "base/math/units.h"

namespace chokepoint::capture::live {
namespace {

constexpr double kMbpsPerGbps = 1e3;
constexpr double kMaxMbps = 1e4;  // higher rates in Gb/s

constexpr std::string_view kBetween = " · ";

struct Part {
  int rank = 0;  // the highest is left out first
  std::string text = {};
};

// "STALLED for 00:14: rank 3 is stopped"
std::string stall_part(const stall::Figures& stall) {
  if (stall.state == record::StallState::Over) {
    return {};
  }
  return fmt::format("{} for {}: {}",
                     stall.state == record::StallState::Stands ? "STALLED" : "no step",
                     clock_text(stall.for_s), cli::printable(stall.what));
}

std::string step_part(const step::Figures& steps) {
  if (!steps.last_ms || !steps.source) {
    return {};
  }
  return fmt::format("step {} ({})", math::format_ms(*steps.last_ms), name_of(*steps.source));
}

std::string retransmitted_part(const Figures& figures) {
  return figures.sent_packets == 0
             ? std::string()
             : "resent " + share_text(figures.retransmitted_packets, figures.sent_packets);
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

// In the order of the line.
std::vector<Part> parts_of(const Figures& figures) {
  std::vector<Part> parts{{4, clock_text(figures.elapsed_s)},
                          {-1, stall_part(figures.stall)},
                          {0, step_part(figures.steps)},
                          {6, samples_part(figures.steps)},
                          {1, traffic_part(figures)},
                          {3, retransmitted_part(figures)},
                          {5, missed_part(figures)},
                          {7, gpu_part(figures.counters)},
                          {2, limit_of(figures)}};
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

// With a lower share senders mostly have nothing to send: the network does not limit the job.
constexpr double kMinBusyShare = 0.1;
constexpr double kFullPercent = 85;  // of a core or a thread: from here on it is the limit
// A host that sends almost nothing and receives this much waits for senders on other hosts; only
// their kernels know the limit.
constexpr double kMinReceivedMbps = 10;
constexpr double kReceivedPerSent = 10;

std::string with_share(std::string_view what, double percent) {
  return fmt::format("{} {:.0f} %", what, percent);
}

// Whether a thread moves data over sockets: it sleeps while there are none. A computing thread runs
// all the time, and so does NCCL's thread that polls the network.
bool communicates(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("gloo") != std::string::npos || name.find("nccl sock") != std::string::npos;
}

std::string limit_of_host(const counter::Figures& counters) {
  if (counters.softirq_percent.value_or(0) >= kFullPercent) {
    return fmt::format("a core (softirq {:.0f} %)", *counters.softirq_percent);
  }
  if (counters.busiest_thread_percent.value_or(0) >= kFullPercent &&
      communicates(counters.busiest_thread)) {
    return fmt::format("a thread ({} {:.0f} %)", counters.busiest_thread,
                       *counters.busiest_thread_percent);
  }
  return {};
}

std::string largest_of(const socket::Shares& shares) {
  const std::array<std::pair<double, std::string_view>, 3> held{
      std::pair{shares.receive_window, "receive window"},
      std::pair{shares.send_buffer, "send buffer"}, std::pair{shares.network, "network"}};
  const auto& [share, what] =
      *std::ranges::max_element(held, {}, [](const auto& h) { return h.first; });
  return share > 0 ? "TCP waits for: " + with_share(what, share * math::kPercent) : std::string();
}

bool only_receives(const Figures& figures) {
  return figures.received_mbps >= kMinReceivedMbps &&
         figures.received_mbps > kReceivedPerSent * figures.sent_mbps;
}

// One line, the name in a column of its own.
void add(std::string& text, std::string_view name, std::string_view value) {
  text += fmt::format("  {:<13} {}\n", name, cli::printable(value));
}

void add_steps(std::string& text, const step::Figures& steps) {
  if (!steps.source || steps.count == 0) {
    add(text, "steps", "none found; mark them with 'chokepoint mark step' or --step-regex");
    return;
  }
  std::string value = fmt::format("{} by {}", grouped(static_cast<std::uint64_t>(steps.count)),
                                  name_of(*steps.source));
  if (steps.median_ms) {
    value += fmt::format(", median {}", math::format_ms(*steps.median_ms));
  }
  if (steps.samples_per_s) {
    value += fmt::format(", {:.4g} samples/s", *steps.samples_per_s);
  }
  add(text, "steps", value);
}

bool is_loopback(const Volume& volume) { return volume.interface == "lo"; }

// Traffic within the host is not counted unless there is no other.
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
    return math::format_rate(bytes * math::kBits / figures.elapsed_s);
  };
  add(text, "throughput",
      fmt::format("{} in both directions, out {} in {}, over {}", rate(sent + received), rate(sent),
                  rate(received), clock_text(figures.elapsed_s)));
}

void add_retransmissions(std::string& text, const Figures& figures) {
  if (figures.sent_packets > 0) {
    add(text, "retransmitted",
        fmt::format("{} of {} packets, {}", grouped(figures.retransmitted_packets),
                    grouped(figures.sent_packets),
                    share_text(figures.retransmitted_packets, figures.sent_packets)));
  }
}

// Of the rank that waited longest beside the network.
void add_waits(std::string& text, const Figures& figures) {
  constexpr double kMinShownShare = 0.01;  // of the time
  const auto sum = [](const counter::Figures::Waits& waits) {
    return waits.batch_s + waits.read_s + waits.write_s;
  };
  const auto worst = std::ranges::max_element(figures.counters.waits, {}, sum);
  if (worst == figures.counters.waits.end() || sum(*worst) < kMinShownShare * figures.elapsed_s) {
    return;
  }
  std::string waits;
  for (const auto& [seconds, what] : {std::pair{worst->batch_s, "for its next batch"},
                                      {worst->read_s, "to read"},
                                      {worst->write_s, "to write"}}) {
    if (seconds >= kMinShownShare * figures.elapsed_s) {
      waits +=
          fmt::format("{}{} s {}", waits.empty() ? "" : ", ", math::three_digits(seconds), what);
    }
  }
  if (!waits.empty()) {
    const std::string who =
        worst->rank ? fmt::format("rank {}", *worst->rank) : fmt::format("process {}", worst->pid);
    add(text, "waited", who + ", " + waits);
  }
}

void add_unseen(std::string& text, const Figures& figures) {
  if (figures.packets_dropped > 0) {
    add(text, "not seen",
        fmt::format("{} packets, dropped before chokepoint could read them",
                    grouped(figures.packets_dropped)));
  }
  if (figures.rows_dropped > 0) {
    add(text, "not kept", fmt::format("{} rows of the record", grouped(figures.rows_dropped)));
  }
  std::set<std::string> written;
  for (const auto* remarks :
       {&figures.remarks, &figures.sockets.remarks, &figures.counters.remarks}) {
    for (const std::string& remark : *remarks) {
      if (written.insert(remark).second) {
        add(text, "not seen", remark);
      }
    }
  }
}

}  // namespace

std::string clock_text(double seconds) {
  constexpr std::int64_t kMinute = 60;
  const auto whole = static_cast<std::int64_t>(std::max(seconds, 0.0));
  const std::int64_t minutes = whole / kMinute;
  return minutes < kMinute
             ? fmt::format("{:02}:{:02}", minutes, whole % kMinute)
             : fmt::format("{}:{:02}:{:02}", minutes / kMinute, minutes % kMinute, whole % kMinute);
}

std::string grouped(std::uint64_t number) {
  constexpr std::size_t kGroup = 3;
  std::string digits = fmt::format("{}", number);
  for (std::size_t end = digits.size(); end > kGroup;) {
    end -= kGroup;
    digits.insert(end, ",");
  }
  return digits;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  constexpr double kMinShown = 0.01;
  const double percent =
      whole == 0 ? 0 : math::kPercent * static_cast<double>(part) / static_cast<double>(whole);
  if (part == 0 || whole == 0) {
    return "0 %";
  }
  return percent < kMinShown ? "<0.01 %" : fmt::format("{:.2f} %", percent);
}

std::string rates_text(double sent_mbps, double received_mbps) {
  const bool is_fast = std::max(sent_mbps, received_mbps) >= kMaxMbps;
  const double scale = is_fast ? kMbpsPerGbps : 1;
  return fmt::format("out {} in {} {}", math::three_digits(sent_mbps / scale),
                     math::three_digits(received_mbps / scale), is_fast ? "Gb/s" : "Mb/s");
}

std::string line_of(const Figures& figures, std::size_t columns) {
  std::vector<Part> parts = parts_of(figures);
  while (parts.size() > 1 && width_of(parts) > columns) {
    parts.erase(std::ranges::max_element(parts, {}, &Part::rank));
  }
  return width_of(parts) <= columns ? joined(parts) : std::string();
}

std::string limit_of(const Figures& figures) {
  if (std::string host = limit_of_host(figures.counters); !host.empty()) {
    return "limited by: " + host;
  }
  if (figures.sockets.connections == 0) {
    return {};
  }
  if (figures.sockets.shares.busy >= kMinBusyShare) {
    return largest_of(figures.sockets.shares);
  }
  return only_receives(figures) ? "" : "limited by: not the network";
}

std::string summary_of(const Figures& figures, const std::string& record_path) {
  std::string text = fmt::format("chokepoint: {} watched for {}\n",
                                 figures.node.empty() ? "the job" : cli::printable(figures.node),
                                 clock_text(figures.elapsed_s));
  add_steps(text, figures.steps);
  add_volume(text, figures);
  add_retransmissions(text, figures);
  add_waits(text, figures);
  for (const std::string& version : figures.nccl) {
    add(text, "NCCL", version);
  }
  add_unseen(text, figures);
  if (figures.counters.own_cpu_percent) {
    add(text, "watching",
        fmt::format("took {:.1f} % of a core", *figures.counters.own_cpu_percent));
  }
  add(text, "record", record_path);
  return text;
}

}  // namespace chokepoint::capture::live
