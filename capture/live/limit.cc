#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "capture/live/line.h"
#include "capture/live/words.h"

namespace chokepoint::capture::live {
namespace {

// Below that the senders mostly have nothing to send: what holds the job lies elsewhere.
constexpr double kHardlyBusy = 0.1;
constexpr double kFullPercent = 85;  // of a core or a thread: next to nothing is left of it
// A host that sends next to nothing and receives that much waits for senders on other hosts, whose
// kernels know what holds them.
constexpr double kReceivingMbps = 10;
constexpr double kMostlyReceiving = 10;

std::string with_share(std::string_view what, double percent) {
  return fmt::format("{} {:.0f} %", what, percent);
}

// A thread that only computes may well be busy all the time, and so is NCCL's that asks the network
// again and again; those that move its data over sockets sleep while there is none.
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
  return share > 0 ? with_share(what, share * kPercent) : std::string();
}

bool only_receives(const Figures& figures) {
  return figures.received_mbps >= kReceivingMbps &&
         figures.received_mbps > kMostlyReceiving * figures.sent_mbps;
}

}  // namespace

std::string limit_of(const Figures& figures) {
  if (std::string host = limit_of_host(figures.counters); !host.empty()) {
    return host;
  }
  if (figures.sockets.connections == 0) {
    return {};
  }
  if (figures.sockets.shares.busy >= kHardlyBusy) {
    return largest_of(figures.sockets.shares);
  }
  return only_receives(figures) ? "" : "not the network";
}

}  // namespace chokepoint::capture::live
