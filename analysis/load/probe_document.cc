#include "analysis/load/probe_document.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/documents/document.h"
#include "base/documents/probe_latency.h"
#include "base/documents/probe_path.h"
#include "base/documents/probe_quic.h"
#include "base/documents/probe_tcp.h"
#include "base/documents/probe_udp.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

std::optional<double> lesser(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

void take_rtt(const std::optional<math::Distribution>& rtt_ms, ProbedDirection& probed) {
  if (rtt_ms) {
    probed.loaded_rtt_ms = rtt_ms->median;
    probed.least_rtt_ms = rtt_ms->min;
  }
}

ProbedDirection direction_of(const documents::TcpFigures& figures) {
  ProbedDirection probed{.throughput_mbps = figures.throughput_mbps};
  const double mss = static_cast<double>(figures.mss_bytes.value_or(0));
  if (figures.retransmits && mss > 0 && figures.bytes > 0) {
    probed.loss_percent =
        100 * static_cast<double>(*figures.retransmits) * mss / static_cast<double>(figures.bytes);
  }
  take_rtt(figures.rtt_ms, probed);
  if (const auto& shares = figures.limited_by) {
    probed.by_application = shares->application;
    probed.by_receive_window = shares->receive_window;
    probed.by_send_buffer = shares->send_buffer;
  }
  return probed;
}

ProbedDirection direction_of(const documents::UdpFigures& figures) {
  return {.throughput_mbps = figures.throughput_mbps, .loss_percent = figures.loss_percent};
}

ProbedDirection direction_of(const documents::QuicFigures& figures) {
  ProbedDirection probed{.throughput_mbps = figures.throughput_mbps,
                         .loss_percent = figures.loss_percent};
  take_rtt(figures.rtt_ms, probed);
  if (const auto& shares = figures.limited_by) {
    probed.by_application = shares->application;
    probed.by_send_buffer = shares->send_buffer;
  }
  return probed;
}

ProbeDocument of_peer(const documents::Peer& peer) {
  ProbeDocument reading{.peer_name = peer.called()};
  if (const auto address = net::Address::parse(peer.address)) {
    reading.peer = address->unmapped();
  }
  return reading;
}

// Of a document that has figures for each direction.
template <class Document>
ProbeDocument reading_of(const Document& document) {
  ProbeDocument reading = of_peer(document.peer);
  for (const auto direction : {documents::Direction::Send, documents::Direction::Receive}) {
    if (const auto* figures = document.by_direction.find(document.direction, direction)) {
      ProbedDirection& probed = reading.directions.at(static_cast<std::size_t>(direction));
      probed = direction_of(*figures);
      reading.least_rtt_ms = lesser(reading.least_rtt_ms, probed.least_rtt_ms);
    }
  }
  return reading;
}

ProbeDocument reading_of(const documents::ProbeLatency& document) {
  ProbeDocument reading = of_peer(document.peer);
  if (document.idle_ms) {
    reading.least_rtt_ms = document.idle_ms->min;
  }
  const std::array loads{&document.send, &document.receive};
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (const auto& loaded_ms = loads.at(i)->loaded_ms) {
      reading.directions.at(i).loaded_rtt_ms = loaded_ms->median;
    }
  }
  return reading;
}

ProbeDocument reading_of(const documents::ProbePath& document) {
  ProbeDocument reading{.peer_name = document.peer.host};
  if (const auto& address = document.peer.address) {
    reading.peer = address->unmapped();
    // Of the last router that replied, if it is the peer itself.
    const bool is_whole = document.forward && !document.forward->empty() &&
                          document.forward->back().address == address;
    reading.least_rtt_ms = is_whole ? document.forward->back().rtt_ms : std::nullopt;
  }
  return reading;
}

// nullopt if a value in it is wrong; of another schema `reading` stays as it is.
template <documents::Document T>
void read_as(const Json& document, std::optional<ProbeDocument>& reading) {
  if (documents::is_of_schema(document, Fields<T>::kSchema)) {
    const Result<T> read = documents::read<T>(document);
    reading = read ? std::optional(reading_of(*read)) : std::nullopt;
  }
}

}  // namespace

std::optional<ProbeDocument> read_probe(const record::Probe& probe) {
  const Json document = json::object_or_null(probe.document);
  if (!document.is_object()) {
    return std::nullopt;
  }
  std::optional<ProbeDocument> reading = ProbeDocument{};
  read_as<documents::ProbePath>(document, reading);
  read_as<documents::ProbeTcp>(document, reading);
  read_as<documents::ProbeUdp>(document, reading);
  read_as<documents::ProbeQuic>(document, reading);
  read_as<documents::ProbeLatency>(document, reading);
  return reading;
}

}  // namespace chokepoint::analysis
