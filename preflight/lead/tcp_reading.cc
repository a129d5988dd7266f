#include <algorithm>
#include <array>
#include <utility>

#include "preflight/lead/answer.h"
#include "preflight/lead/bounds.h"
#include "preflight/lead/readings.h"

namespace chokepoint::preflight::lead {
namespace {

using control::Json;

constexpr std::string_view kSchema = "chokepoint.probe.tcp/1";

// The verdicts of probe tcp; what stands for the network is told apart by the figures.
constexpr std::array<std::pair<std::string_view, TcpLimit>, 9> kLimits{
    {{"sender-cpu", TcpLimit::SenderCpu},
     {"receiver-cpu", TcpLimit::ReceiverCpu},
     {"application", TcpLimit::Application},
     {"send-buffer", TcpLimit::SendBuffer},
     {"receive-window", TcpLimit::ReceiveWindow},
     {"loss", TcpLimit::Network},
     {"queue", TcpLimit::Network},
     {"path", TcpLimit::Network},
     {"slow-start", TcpLimit::Network}}};

TcpLimit limit_named(std::string_view name) {
  const auto* at = std::ranges::find(kLimits, name, &std::pair<std::string_view, TcpLimit>::first);
  return at == kLimits.end() ? TcpLimit::Unknown : at->second;
}

// Of segments as large as the path takes them: those that were sent in all are not counted there.
Figure retransmitted_percent(Answer& in) {
  const auto again = in.number("retransmits", 0, kMostPackets);
  const auto bytes = in.number("sent_bytes", 0, kMostBytes);
  const auto segment = in.number("mss_bytes", 0, kLargestPacket);
  if (!again || !bytes || !segment || *bytes <= 0 || *segment <= 0) {
    return std::nullopt;
  }
  constexpr double kAll = 100;
  return static_cast<float>(std::min(kAll, *again * *segment / *bytes * kAll));
}

// What the window was at most: the kernel's congestion window grows no further than it is used.
Figure largest_window(Answer& in) { return in.figure("max_cwnd_bytes", 0, kMostBytes); }

}  // namespace

Result<> read_tcp(const Json& document, WayResult& way) {
  Answer in(document, kSchema);
  WayResult read = way;
  read.tcp_mbps = in.figure("throughput_mbps", 0, kFastestMbps);
  read.retransmitted_percent = retransmitted_percent(in);
  read.window_share = in.figure("limited_by.receive_window", 0, 1);
  read.send_buffer_share = in.figure("limited_by.send_buffer", 0, 1);
  read.largest_window_bytes = largest_window(in);
  read.sender_cpu_percent = in.figure("cpu.sender_busiest_core_percent", 0, kMostPercent);
  read.receiver_cpu_percent = in.figure("cpu.receiver_busiest_core_percent", 0, kMostPercent);
  read.limit = limit_named(in.text("limit", kLongestName));
  if (!read.tcp_mbps) {
    in.wrong("throughput_mbps", "a number");
  }
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  way = read;
  return {};
}

Result<> read_alone(const Json& document, WayResult& way) {
  Answer in(document, kSchema);
  const Figure alone = in.figure("throughput_mbps", 0, kFastestMbps);
  if (!alone) {
    in.wrong("throughput_mbps", "a number");
  }
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  way.alone_mbps = alone;
  return {};
}

Result<> read_together(const Json& document, WayResult& sent, WayResult& received) {
  Answer in(document, kSchema);
  const Figure to = in.figure("send.throughput_mbps", 0, kFastestMbps);
  const Figure from = in.figure("receive.throughput_mbps", 0, kFastestMbps);
  if (!to || !from) {
    in.wrong("throughput_mbps", "a number each way");
  }
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  sent.together_mbps = to;
  received.together_mbps = from;
  return {};
}

}  // namespace chokepoint::preflight::lead
