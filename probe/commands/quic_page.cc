// How the answer of 'chokepoint probe quic' looks.
#include "probe/commands/quic_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <optional>
#include <string>
#include <utility>

#include "base/math/units.h"
#include "probe/commands/directions.h"

namespace chokepoint::probe {
namespace {

using documents::QuicFigures;

constexpr std::string_view kUnknown = "not known";

// The text of a figure, where that is known.
template <class Value, class Text>
std::string known(const std::optional<Value>& figure, Text text) {
  return figure ? text(*figure) : std::string(kUnknown);
}

std::string quic_rtt(const QuicFigures& figures) {
  if (!figures.packets_sent) {
    return std::string(kUnknown);
  }
  if (!figures.rtt_ms) {
    return "not measured";
  }
  return fmt::format("{} (min {}, p99 {})", math::format_ms(figures.rtt_ms->median),
                     math::format_ms(figures.min_rtt_ms.value_or(figures.rtt_ms->min)),
                     math::format_ms(figures.rtt_ms->p99));
}

std::string quic_cpu(const std::optional<double>& percent, const std::optional<double>& busy,
                     const std::optional<double>& per_gbps) {
  if (!percent || !busy) {
    return std::string(kUnknown);
  }
  const std::string used = fmt::format("{:.0f} % of a core, busy {:.0f} %", *percent, *busy);
  return per_gbps ? fmt::format("{}, {:.0f} % a Gb/s", used, *per_gbps) : used;
}

std::string quic_shares(const documents::QuicShares& shares) {
  return fmt::format(
      "processor {:.0f} %, flow window {:.0f} %, congestion window {:.0f} %, pacing {:.0f} %, "
      "send buffer {:.0f} %",
      shares.processor * math::kPercent, shares.flow_window * math::kPercent,
      shares.congestion_window * math::kPercent, shares.pacing * math::kPercent,
      shares.send_buffer * math::kPercent);
}

std::string quic_loss(const QuicFigures& figures) {
  return known(figures.lost, [&](std::uint64_t lost) {
    return fmt::format("{} of {} ({:.3f} %)", lost, figures.packets_sent.value_or(0),
                       figures.loss_percent.value_or(0));
  });
}

std::string quic_ecn(const documents::QuicEcn& ecn) {
  return known(ecn.received_ce, [&](std::uint64_t marked) {
    return fmt::format("{} of {}", marked, ecn.received_ect0.value_or(0) + marked);
  });
}

std::string quic_calls(const QuicFigures& figures) {
  const auto text = [](double mean) { return fmt::format("{:.1f}", mean); };
  return fmt::format("sent {}, received {}", known(figures.packets_per_send_call, text),
                     known(figures.packets_per_receive_call, text));
}

std::string quic_bytes(std::uint64_t bytes) {
  return math::format_bytes(static_cast<double>(bytes));
}

DirectionRows<quic::Outcome> quic_rows() {
  const auto row = [](const char* title, auto text) {
    return std::pair(std::string(title),
                     [text](const quic::Outcome& each) { return text(each.figures); });
  };
  using F = QuicFigures;
  return {
      row("average throughput",
          [](const F& each) { return math::format_rate(each.throughput_mbps * math::kMega); }),
      row("peak throughput",
          [](const F& each) { return math::format_rate(each.peak_mbps * math::kMega); }),
      row("data transferred",
          [](const F& each) {
            return fmt::format("{} in {:.2f} s", quic_bytes(each.bytes), each.duration_s);
          }),
      row("packets lost", quic_loss),
      row("retransmitted",
          [](const F& each) {
            return known(each.retransmits,
                         [](std::uint64_t count) { return fmt::to_string(count); });
          }),
      row("marked by the path (ECN)", [](const F& each) { return quic_ecn(each.ecn); }),
      row("payload of a packet",
          [](const F& each) {
            return known(each.packet_bytes,
                         [](std::uint64_t bytes) { return fmt::format("{} B", bytes); });
          }),
      row("max congestion window",
          [](const F& each) { return known(each.max_cwnd_bytes, quic_bytes); }),
      row("round-trip time", quic_rtt),
      row("packets a call", quic_calls),
      row("TX utilization",
          [](const F& each) {
            const documents::QuicCpu& cpu = each.cpu;
            return quic_cpu(cpu.sender_percent, cpu.sender_busy_percent,
                            cpu.sender_percent_per_gbps);
          }),
      row("RX utilization",
          [](const F& each) {
            const documents::QuicCpu& cpu = each.cpu;
            return quic_cpu(cpu.receiver_percent, cpu.receiver_busy_percent,
                            cpu.receiver_percent_per_gbps);
          }),
      row("the sender's time", [](const F& each) { return known(each.limited_by, quic_shares); })};
}

std::string handshake_text(const quic::HandshakeTimes& times) {
  std::string text = fmt::format("Handshake {}", math::format_ms(times.handshake_ms));
  if (times.resumption_ms) {
    text += fmt::format("; resumed, the first answer after {} ({})",
                        math::format_ms(*times.resumption_ms),
                        times.early_data_accepted ? "0-RTT" : "0-RTT was refused");
  }
  return text + ".";
}

std::string mbps_text(const std::optional<double>& mbps) {
  return mbps ? math::format_rate(*mbps * math::kMega) : "not measured";
}

std::string beside_text(const documents::QuicBeside& beside, const quic::Outcome& outcome) {
  std::string text = fmt::format("{}, TCP carries {}, UDP {}", direction_text(outcome.direction),
                                 mbps_text(beside.tcp_mbps), mbps_text(beside.udp_mbps));
  if (beside.udp_loss_percent) {
    text += fmt::format(" (as fast as it can, {:.1f} % lost)", *beside.udp_loss_percent);
  }
  return text + fmt::format(", QUIC {}.", mbps_text(outcome.figures.throughput_mbps));
}

}  // namespace

documents::ProbeQuic document_of(const QuicMeasured& measured, documents::Peer peer) {
  const quic::Trial& trial = measured.trial;
  const quic::Parameters& parameters = trial.parameters;
  documents::ProbeQuic document{.peer = std::move(peer),
                                .library = trial.client.library,
                                .direction = parameters.direction,
                                .streams = parameters.streams,
                                .interrupted = trial.interrupted,
                                .congestion_control = parameters.congestion,
                                .window_bytes = parameters.window_bytes,
                                .segmentation = parameters.segmentation,
                                .handshake_ms = trial.times.handshake_ms,
                                .resumption_ms = trial.times.resumption_ms};
  if (!trial.is_foreign) {
    document.peer_library = trial.server.library;
    document.early_data_accepted = trial.times.early_data_accepted;
  }
  for (const quic::Outcome& outcome : measured.directions) {
    document.by_direction.set(document.direction, outcome.direction, outcome.figures);
  }
  return document;
}

void print_page(const cli::Context& context, const QuicMeasured& measured) {
  print_directions(context, measured.directions, quic_rows());
  context.out << handshake_text(measured.trial.times) << '\n';
  for (const quic::Outcome& outcome : measured.directions) {
    fmt::print(context.out, "{} it was limited by {}.\n", direction_text(outcome.direction),
               outcome.figures.summary);
  }
  for (const quic::Outcome& outcome : measured.directions) {
    if (outcome.figures.beside) {
      context.out << beside_text(*outcome.figures.beside, outcome) << '\n';
    }
  }
  if (measured.trial.is_foreign) {
    context.out << "The server's certificate was not verified; what arrived there is what it "
                   "acknowledged.\n";
  }
  if (measured.trial.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
