// How the answer of 'chokepoint probe quic' looks.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <string>

#include "base/control/bodies.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "probe/commands/directions.h"
#include "probe/commands/reports.h"

namespace chokepoint {
namespace probe {
namespace {

struct QuicCpu {
  const quic::Outcome& outcome;
};

struct QuicEcn {
  std::optional<std::uint64_t> sent_ect0 = {};
  std::optional<std::uint64_t> received_ect0 = {};
  std::optional<std::uint64_t> received_ce = {};
};

// Of what may not be known, a part: null with it.
template <class Whole, class Part>
std::optional<Part> part_of(const std::optional<Whole>& whole, Part Whole::* part) {
  return whole ? std::optional(std::invoke(part, *whole)) : std::nullopt;
}
// The same where the part may be unknown by itself.
template <class Whole, class Part>
std::optional<Part> part_of(const std::optional<Whole>& whole, std::optional<Part> Whole::* part) {
  return whole ? std::invoke(part, *whole) : std::nullopt;
}

template <class Whole, class Part>
constexpr auto known(std::optional<Whole> quic::Outcome::* whole, const char* name,
                     Part Whole::* part, const char* text) {
  return computed<quic::Outcome>(
      name, [=](const quic::Outcome& outcome) { return probe::part_of(outcome.*whole, part); },
      text);
}

std::optional<double> mean(const std::optional<std::uint64_t>& packets,
                           const std::optional<std::uint64_t>& calls) {
  return packets && calls.value_or(0) > 0
             ? std::optional(static_cast<double>(*packets) / static_cast<double>(*calls))
             : std::nullopt;
}

}  // namespace
}  // namespace probe

template <>
struct Fields<probe::Beside> {
  using B = probe::Beside;
  static constexpr std::tuple kList{
      field("tcp_mbps", &B::tcp_mbps, "payload that arrived over TCP"),
      field("udp_mbps", &B::udp_mbps, "payload that arrived over UDP, as fast as the sender could"),
      field("udp_loss_percent", &B::udp_loss_percent, "of the packets of that")};
};

template <>
struct Fields<probe::QuicEcn> {
  using E = probe::QuicEcn;
  static constexpr std::tuple kList{
      field("sent_ect0", &E::sent_ect0, "packets sent as capable of ECN"),
      field("received_ect0", &E::received_ect0, "of them, those that arrived unmarked"),
      field("received_ce", &E::received_ce, "those that the path marked: congestion")};
};

template <>
struct Fields<probe::quic::Interval> {
  using I = probe::quic::Interval;
  static constexpr std::tuple kList{
      field("start_s", &I::start_s, "since the test began"),
      field("end_s", &I::end_s, "since the test began"),
      field("bytes", &I::bytes, "stream data that arrived"),
      field("throughput_mbps", &I::throughput_mbps, "stream data that arrived, 10^6 bit/s"),
      field("retransmits", &I::retransmits, "packets declared lost and retransmitted"),
      field("cwnd_bytes", &I::cwnd_bytes, "congestion window at the end"),
      field("rtt_ms", &I::rtt_ms, "smoothed round-trip time at the end")};
};

template <>
struct Fields<probe::quic::StreamOutcome> {
  using S = probe::quic::StreamOutcome;
  static constexpr std::tuple kList{
      field("stream", &S::stream, "number of the stream, from 0"),
      field("bytes", &S::bytes, "stream data that arrived"),
      field("throughput_mbps", &S::throughput_mbps, "stream data that arrived, 10^6 bit/s")};
};

template <>
struct Fields<probe::QuicCpu> {
  using C = probe::QuicCpu;
  using H = probe::quic::HostMeasure;
  static constexpr std::tuple kList{
      computed<C>(
          "sender_percent",
          [](const C& c) { return probe::part_of(c.outcome.sender_host, &H::cpu_percent); },
          "of the connection's thread; 100 % is one core"),
      computed<C>(
          "receiver_percent",
          [](const C& c) { return probe::part_of(c.outcome.receiver_host, &H::cpu_percent); },
          "of the connection's thread"),
      computed<C>(
          "sender_busy_percent",
          [](const C& c) { return probe::part_of(c.outcome.sender_host, &H::busy_percent); },
          "of the time, in which the thread did not wait"),
      computed<C>(
          "receiver_busy_percent",
          [](const C& c) { return probe::part_of(c.outcome.receiver_host, &H::busy_percent); },
          "of the time, in which the thread did not wait"),
      computed<C>(
          "sender_percent_per_gbps", [](const C& c) { return c.outcome.sender_percent_per_gbps; },
          "of a core for each 10^9 bit/s"),
      computed<C>(
          "receiver_percent_per_gbps",
          [](const C& c) { return c.outcome.receiver_percent_per_gbps; },
          "of a core for each 10^9 bit/s"),
      computed<C>(
          "sender_softirq_percent",
          [](const C& c) { return probe::part_of(c.outcome.sender_host, &H::softirq_percent); },
          "handling packets, on the core that had most of it"),
      computed<C>(
          "receiver_softirq_percent",
          [](const C& c) { return probe::part_of(c.outcome.receiver_host, &H::softirq_percent); },
          "handling packets, on the core that had most of it")};
};

template <>
struct Fields<probe::quic::Outcome> {
  using O = probe::quic::Outcome;
  using S = probe::quic::SentMeasure;
  using R = probe::quic::ReceivedMeasure;
  static constexpr std::tuple kList{
      field("duration_s", &O::duration_s, "from the first arrival to the last"),
      field("throughput_mbps", &O::throughput_mbps, "stream data that arrived, 10^6 bit/s"),
      field("peak_mbps", &O::peak_mbps, "of the best whole interval"),
      field("bytes", &O::bytes, "stream data that arrived"),
      probe::known(&O::sent, "sent_bytes", &S::bytes, "stream data sent, each byte once"),
      probe::known(&O::sent, "packets_sent", &S::packets, "UDP packets, all kinds"),
      probe::known(&O::received, "packets_received", &R::packets, "UDP packets, all kinds"),
      field("lost", &O::lost, "packets sent less packets received"),
      field("loss_percent", &O::loss_percent, "of the packets sent"),
      probe::known(&O::sent, "retransmits", &S::lost_packets,
                   "packets that the sender's library declared lost and retransmitted"),
      probe::known(&O::sent, "refused", &S::refused_packets,
                   "packets that the sender's kernel refused"),
      probe::known(&O::sent, "packet_bytes", &S::packet_bytes,
                   "UDP payload that path MTU discovery reached"),
      probe::known(&O::sent, "max_cwnd_bytes", &S::max_cwnd_bytes, "largest congestion window"),
      computed<O>(
          "rtt_ms",
          [](const O& o) { return o.sent ? control::if_measured(o.sent->rtt_ms) : std::nullopt; },
          "smoothed by the sender's library, under load"),
      probe::known(&O::sent, "min_rtt_ms", &S::min_rtt_ms, "the sender's least"),
      computed<O>(
          "ecn",
          [](const O& o) {
            return probe::QuicEcn{.sent_ect0 = probe::part_of(o.sent, &S::ect0_packets),
                                  .received_ect0 = probe::part_of(o.received, &R::ect0_packets),
                                  .received_ce = probe::part_of(o.received, &R::ce_packets)};
          },
          "marks in the IP headers"),
      probe::known(&O::sent, "segmentation_offload", &S::segmentation,
                   "the sender's kernel cut messages into packets (GSO)"),
      computed<O>(
          "packets_per_send_call",
          [](const O& o) {
            return probe::mean(probe::part_of(o.sent, &S::packets),
                               probe::part_of(o.sent, &S::calls));
          },
          "mean"),
      computed<O>(
          "packets_per_receive_call",
          [](const O& o) {
            return probe::mean(probe::part_of(o.received, &R::packets),
                               probe::part_of(o.received, &R::calls));
          },
          "mean"),
      computed<O>(
          "cpu", [](const O& o) { return probe::QuicCpu{o}; }, "100 % is one core"),
      probe::known(&O::sent, "limited_by", &S::shares, "the sender's time"),
      computed<O>(
          "limit", [](const O& o) { return name_of(o.verdict.limit); },
          "what limited the test: see docs/internals/quic.md"),
      within(&O::verdict, field("summary", &probe::quic::Verdict::sentence, "the limit in words")),
      field("intervals", &O::intervals, "by the receiver's clock"),
      field("per_stream", &O::streams, "each stream")};
};

}  // namespace chokepoint

namespace chokepoint::probe {
namespace {

constexpr std::string_view kUnknown = "not known";

// The text of a part of the outcome, where that is known.
template <class Whole, class Text>
auto text_of(std::optional<Whole> quic::Outcome::* whole, Text text) {
  return [=](const quic::Outcome& outcome) {
    return outcome.*whole ? text(*(outcome.*whole)) : std::string(kUnknown);
  };
}

std::string quic_rtt(const quic::SentMeasure& sent) {
  if (sent.rtt_ms.count == 0) {
    return "not measured";
  }
  return fmt::format("{} (min {}, p99 {})", math::format_ms(sent.rtt_ms.median),
                     math::format_ms(sent.min_rtt_ms.value_or(sent.rtt_ms.min)),
                     math::format_ms(sent.rtt_ms.p99));
}

std::string quic_cpu(const std::optional<quic::HostMeasure>& host,
                     const std::optional<double>& per_gbps) {
  if (!host) {
    return std::string(kUnknown);
  }
  const std::string used =
      fmt::format("{:.0f} % of a core, busy {:.0f} %", host->cpu_percent, host->busy_percent);
  return per_gbps ? fmt::format("{}, {:.0f} % a Gb/s", used, *per_gbps) : used;
}

std::string quic_shares(const quic::SentMeasure& sent) {
  const quic::Shares& shares = sent.shares;
  return fmt::format(
      "processor {:.0f} %, flow window {:.0f} %, congestion window {:.0f} %, pacing {:.0f} %, "
      "send buffer {:.0f} %",
      shares.processor * math::kPercent, shares.flow_window * math::kPercent,
      shares.congestion_window * math::kPercent, shares.pacing * math::kPercent,
      shares.send_buffer * math::kPercent);
}

std::string quic_loss(const quic::Outcome& outcome) {
  return outcome.lost ? fmt::format("{} of {} ({:.3f} %)", *outcome.lost, outcome.sent->packets,
                                    outcome.loss_percent.value_or(0))
                      : std::string(kUnknown);
}

std::string quic_ecn(const quic::ReceivedMeasure& received) {
  return fmt::format("{} of {}", received.ce_packets, received.ect0_packets + received.ce_packets);
}

std::string quic_calls(const quic::Outcome& outcome) {
  const auto text = [](const auto& measure) {
    const auto each = measure ? mean(measure->packets, measure->calls) : std::optional<double>{};
    return each ? fmt::format("{:.1f}", *each) : std::string(kUnknown);
  };
  return fmt::format("sent {}, received {}", text(outcome.sent), text(outcome.received));
}

DirectionRows<quic::Outcome> quic_rows() {
  using O = quic::Outcome;
  using S = quic::SentMeasure;
  return {
      {"average throughput",
       [](const O& each) { return math::format_rate(each.throughput_mbps * math::kMega); }},
      {"peak throughput",
       [](const O& each) { return math::format_rate(each.peak_mbps * math::kMega); }},
      {"data transferred",
       [](const O& each) {
         return fmt::format("{} in {:.2f} s", math::format_bytes(static_cast<double>(each.bytes)),
                            each.duration_s);
       }},
      {"packets lost", quic_loss},
      {"retransmitted",
       text_of(&O::sent, [](const S& sent) { return std::to_string(sent.lost_packets); })},
      {"marked by the path (ECN)", text_of(&O::received, quic_ecn)},
      {"payload of a packet",
       text_of(&O::sent, [](const S& sent) { return fmt::format("{} B", sent.packet_bytes); })},
      {"max congestion window", text_of(&O::sent,
                                        [](const S& sent) {
                                          return math::format_bytes(
                                              static_cast<double>(sent.max_cwnd_bytes));
                                        })},
      {"round-trip time", text_of(&O::sent, quic_rtt)},
      {"packets a call", quic_calls},
      {"TX utilization",
       [](const O& each) { return quic_cpu(each.sender_host, each.sender_percent_per_gbps); }},
      {"RX utilization",
       [](const O& each) { return quic_cpu(each.receiver_host, each.receiver_percent_per_gbps); }},
      {"the sender's time", text_of(&O::sent, quic_shares)}};
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

std::string beside_text(const Beside& beside, const quic::Outcome& outcome) {
  std::string text = fmt::format("{}, TCP carries {}, UDP {}", direction_text(beside.direction),
                                 mbps_text(beside.tcp_mbps), mbps_text(beside.udp_mbps));
  if (beside.udp_loss_percent) {
    text += fmt::format(" (as fast as it can, {:.1f} % lost)", *beside.udp_loss_percent);
  }
  return text + fmt::format(", QUIC {}.", mbps_text(outcome.throughput_mbps));
}

}  // namespace

void add_to(cli::Json& document, const QuicMeasured& measured) {
  const quic::Trial& trial = measured.trial;
  const quic::Parameters& parameters = trial.parameters;
  document["library"] = trial.client.library;
  document["peer_library"] = trial.is_foreign ? cli::Json() : cli::Json(trial.server.library);
  document["direction"] = name_of(parameters.direction);
  document["streams"] = parameters.streams;
  document["interrupted"] = trial.interrupted;
  document["congestion_control"] = name_of(parameters.congestion);
  document["window_bytes"] = parameters.window_bytes;
  document["segmentation"] = parameters.segmentation;
  document["handshake_ms"] = trial.times.handshake_ms;
  document["resumption_ms"] = control::or_null(trial.times.resumption_ms);
  document["early_data_accepted"] =
      trial.is_foreign ? cli::Json() : cli::Json(trial.times.early_data_accepted);
  for (std::size_t i = 0; i < measured.directions.size(); ++i) {
    const quic::Outcome& outcome = measured.directions[i];
    cli::Json body = json::to_json(outcome);
    body["beside"] = measured.beside.empty() ? cli::Json() : json::to_json(measured.beside[i]);
    if (measured.directions.size() == 1) {
      document.update(body);
    } else {
      document[name_of(outcome.direction)] = std::move(body);
    }
  }
}

void print_page(const cli::Context& context, const QuicMeasured& measured) {
  print_directions(context, measured.directions, quic_rows());
  context.out << handshake_text(measured.trial.times) << '\n';
  for (const quic::Outcome& outcome : measured.directions) {
    fmt::print(context.out, "{} it was limited by {}.\n", direction_text(outcome.direction),
               outcome.verdict.sentence);
  }
  for (std::size_t i = 0; i < measured.beside.size(); ++i) {
    context.out << beside_text(measured.beside[i], measured.directions[i]) << '\n';
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
