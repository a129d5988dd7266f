#include "analysis/attribution/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <iterator>
#include <string>

#include "analysis/attribution/findings.h"
#include "analysis/attribution/hosts.h"
#include "analysis/load/probe_document.h"
#include "base/net/address.h"
#include "base/record/names.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxSlotToLine = 0.9;    // of the line
constexpr double kMinFasterFamily = 1.5;  // times the job's rate, as a probe measured it
constexpr double kMinWiderLine = 2;       // times the job's rate
// Of the others' traffic; payload may look like more than it is, since the two are not counted at
// the same moments.
constexpr double kMinStorageShare = 0.5;  // NFS's part of the others' traffic, to be its cause
constexpr double kMaxStorageShare = 1.3;
constexpr double kMinSharedShare = 0.2;  // of what passes the card
// The usual round trip to the least: most of it is a queue.
constexpr double kMinQueuedRttRatio = 2.5;

// Of what the card itself can do, the share that its PCIe path is trained to; 1 if not known.
double share_of_card(const NodeData& node, const std::string& interface, std::string_view series,
                     std::string_view maximum) {
  const auto trained = last_level(node, series, interface);
  const auto possible =
      fact_number(node, "pci", fact_text(node, "nic", interface, "pci_address"), maximum);
  return trained && possible && *possible > 0 ? *trained / *possible : 1;
}

double grown_in(const std::vector<record::SocketSample>& samples,
                record::Figure record::SocketSample::* member, Span span) {
  const auto inside = [&](std::int64_t t_ns) {
    const auto at = std::ranges::lower_bound(samples, t_ns, {}, &record::SocketSample::t_ns);
    return at == samples.end() ? std::prev(at) : at;
  };
  return samples.empty()
             ? 0
             : figure((*inside(span.end_ns)).*member) - figure((*inside(span.start_ns)).*member);
}

// By the sockets of the job on this interface: payload, and a little more for the headers.
std::optional<double> socket_bytes(const NodeData& node, const std::string& interface,
                                   bool is_sender, Span span) {
  constexpr double kWireBytesPerPayload = 1.05;
  const auto member =
      is_sender ? &record::SocketSample::bytes_sent : &record::SocketSample::bytes_received;
  std::optional<double> bytes;
  for (const FlowData& flow : node.flows) {
    for (const auto& samples : flow.sockets) {
      if (flow.row.interface == interface && !samples.empty()) {
        bytes = bytes.value_or(0) + kWireBytesPerPayload * grown_in(samples, member, span);
      }
    }
  }
  return bytes;
}

// Of the job's data, checkpoints and weights while ranks exchange: what moves at other times takes
// nothing from them.
double beside_mbps(const DiagnosisInput& input, std::size_t place, const std::string& interface,
                   bool is_sender) {
  const Spans& exchanging = input.phases.communicating;
  double bytes = 0;
  for (const FlowData& flow : input.run.nodes[place].flows) {
    if (flow.row.interface != interface || !is_of_job(flow.row) || !flow.row.local_end.known() ||
        !traffic::is_beside_exchange(input.run.ranks.purpose_of(flow.row))) {
      continue;
    }
    const bool is_from_a = (flow.row.local_end.value() == 0) == is_sender;
    for (const record::FlowSample& sample : flow.packets.at(is_from_a ? 0 : 1)) {
      if (covers(exchanging, input.clocks.common_ns(place, sample.t_ns - sample.bin_ns / 2))) {
        bytes += static_cast<double>(sample.bytes.value_or(0));
      }
    }
  }
  const auto exchanging_ns = static_cast<double>(length_ns(exchanging));
  return exchanging_ns > 0 ? bytes * 8e3 / exchanging_ns : 0;
}

// Of the job, by packets, else by its sockets. nullopt where neither was watched.
std::optional<double> own_bytes(const NodeData& node, const std::string& interface, bool is_sender,
                                Span span) {
  const SeriesData* counted =
      node.find(is_sender ? record::kJobSentBytes : record::kJobReceivedBytes, interface);
  return counted != nullptr ? growth(*counted, span)
                            : socket_bytes(node, interface, is_sender, span);
}

Card card_of(const DiagnosisInput& input, std::size_t place, const FlowData& flow, bool is_sender) {
  const NodeData& node = input.run.nodes[place];
  Card card = analysis::card_of(node, flow.row.interface);
  const Span span = input.span_of(place);
  const double all = grown(node, is_sender ? record::kNicSentBytes : record::kNicReceivedBytes,
                           card.interface, span);
  const auto own = own_bytes(node, card.interface, is_sender, span);
  if (span.length_ns() > 0 && own) {
    card.others_mbps = std::max(0.0, all - *own) * 8e3 / static_cast<double>(span.length_ns());
  }
  card.beside_mbps = beside_mbps(input, place, card.interface, is_sender);
  for (const SeriesData* mount :
       node.find(is_sender ? record::kNfsWrittenBytes : record::kNfsReadBytes)) {
    const double mbps =
        growth(*mount, span).value_or(0) * 8e3 / static_cast<double>(span.length_ns());
    if (mbps > card.nfs_mbps) {
      card.nfs_mbps = mbps;
      card.nfs_mount = mount->row.subject;
    }
  }
  return card;
}

struct Measured {
  net::Address peer;
  double mbps = 0;
};

std::optional<Measured> measured_by(const record::Probe& probe, ProbeDirection direction) {
  const auto document = probe.kind == "tcp" ? read_probe(probe) : std::nullopt;
  if (!document || !document->peer || !document->direction(direction).throughput_mbps) {
    return std::nullopt;
  }
  return Measured{*document->peer, *document->direction(direction).throughput_mbps};
}

std::vector<net::Address> addresses_of(const NodeData& node) {
  std::vector<net::Address> addresses;
  for (const Interface& interface : node.interfaces) {
    for (const std::string& text : interface.addresses) {
      const auto address = net::Address::parse(text.substr(0, text.find('/')));
      if (address && !address->is_link_local() && !address->is_loopback()) {
        addresses.push_back(*address);
      }
    }
  }
  return addresses;
}

// What the fastest probe of one node measured to the other by another family than the used one.
std::optional<Measured> best_of(const NodeData& prober, const NodeData& other,
                                ProbeDirection direction, net::Family used) {
  const std::vector<net::Address> addresses = addresses_of(other);
  std::optional<Measured> best;
  for (const record::Probe& probe : prober.probes) {
    const auto measured = measured_by(probe, direction);
    if (measured && measured->peer.family() != used &&
        std::ranges::find(addresses, measured->peer) != addresses.end() &&
        (!best || measured->mbps > best->mbps)) {
      best = measured;
    }
  }
  return best;
}

std::string address_in(const NodeData& node, net::Family family) {
  const std::vector<net::Address> addresses = addresses_of(node);
  const auto found = std::ranges::find(addresses, family, &net::Address::family);
  return found == addresses.end() ? "" : found->text();
}

struct Network {
  net::Address address;
  unsigned bits = 0;
};

// "10.0.0.1/24"; nothing of a link's own addresses, which are the same on all links.
std::optional<Network> network_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto address = net::Address::parse(text.substr(0, slash));
  const auto bits =
      sys::parse_number<unsigned>(slash == std::string::npos ? "" : text.substr(slash + 1));
  if (!address || address->is_link_local() || address->is_loopback() || !bits ||
      *bits > CHAR_BIT * address->bytes().size()) {
    return std::nullopt;
  }
  return Network{*address, *bits};
}

bool is_same_network(const std::string& one, const std::string& other) {
  const auto first = network_of(one);
  const auto second = network_of(other);
  if (!first || !second || first->bits != second->bits ||
      first->address.family() != second->address.family()) {
    return false;
  }
  for (unsigned bit = 0; bit < first->bits; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    if (((first->address.bytes().at(bit / 8) ^ second->address.bytes().at(bit / 8)) & mask) != 0) {
      return false;
    }
  }
  return true;
}

// Two hosts are neighbours where their addresses lie in one network and differ.
std::optional<std::string> neighbour_of(const Interface& interface, const NodeData& other) {
  for (const Interface& candidate : other.interfaces) {
    for (const std::string& theirs : candidate.addresses) {
      for (const std::string& ours : interface.addresses) {
        if (candidate.is_up && theirs != ours && is_same_network(ours, theirs)) {
          return theirs.substr(0, theirs.find('/'));
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<BetterRoute> better_interface(const DiagnosisInput& input, const DirectionView& view,
                                            const Route& route) {
  if (!view.sender || !view.receiver || view.sender == view.receiver) {
    return std::nullopt;
  }
  std::optional<BetterRoute> best;
  for (const Interface& interface : input.run.nodes[*view.sender].interfaces) {
    if (!interface.is_up || interface.kind == "loopback" ||
        interface.name == route.sender.interface ||
        interface.speed_mbps.value_or(0) < kMinWiderLine * route.rate_mbps ||
        interface.speed_mbps.value_or(0) < route.sender.speed_mbps.value_or(0)) {
      continue;
    }
    const auto address = neighbour_of(interface, input.run.nodes[*view.receiver]);
    if (address && (!best || *interface.speed_mbps > best->mbps)) {
      best = {.cause = Cause::ManagementInterface,
              .interface = interface.name,
              .address = *address,
              .mbps = *interface.speed_mbps,
              .from = "interfaces of " + route.from + " and " + route.to};
    }
  }
  return best;
}

// A probe counts only for the two hosts it ran between, and for its direction.
std::optional<BetterRoute> better_family(const DiagnosisInput& input, const DirectionView& view,
                                         const Route& route) {
  const auto address = net::Address::parse(input.run.connections[view.connection].row.a_address);
  if (!address || !view.sender || !view.receiver) {
    return std::nullopt;
  }
  const net::Family used = address->unmapped().family();
  const NodeData& sender = input.run.nodes[*view.sender];
  const NodeData& receiver = input.run.nodes[*view.receiver];
  const auto sent = best_of(sender, receiver, ProbeDirection::Send, used);
  const auto best = sent ? sent : best_of(receiver, sender, ProbeDirection::Receive, used);
  if (!best || best->mbps <= kMinFasterFamily * route.rate_mbps) {
    return std::nullopt;
  }
  return BetterRoute{.cause = Cause::AddressFamily,
                     .interface = route.sender.interface,
                     .address = address_in(receiver, best->peer.family()),
                     .mbps = best->mbps,
                     .from = "probe tcp of " + (sent ? sender : receiver).name};
}

// A queue that others keep before the line, from before the job began, is in every round trip, the
// least one included. Where most of the usual one is a queue, the rest may be one, too.
bool is_others_queue(const Route& route, const DirectionLimits& direction) {
  return route.is_shared() &&
         direction.facts.usual_rtt_us > kMinQueuedRttRatio * direction.facts.min_rtt_us;
}

}  // namespace

Card card_of(const NodeData& node, const std::string& interface) {
  Card card{.node = node.name, .interface = interface};
  card.speed_mbps = last_level(node, record::kNicSpeed, interface);
  if (const Interface* known = node.interface(interface); known != nullptr && !card.speed_mbps) {
    card.speed_mbps = known->speed_mbps;
  }
  card.slot_mbps = last_level(node, record::kPcieCeiling, interface);
  card.is_slot_slow = share_of_card(node, interface, record::kPcieSpeed, "max_speed_gts") <
                      share_of_card(node, interface, record::kPcieWidth, "max_width");
  return card;
}

std::optional<double> Route::line_mbps() const {
  if (!sender.speed_mbps || !receiver.speed_mbps) {
    return sender.speed_mbps ? sender.speed_mbps : receiver.speed_mbps;
  }
  return std::min(*sender.speed_mbps, *receiver.speed_mbps);
}

const Card* Route::narrow_slot() const {
  for (const Card* card : {&sender, &receiver}) {
    if (card->slot_mbps && card->speed_mbps &&
        *card->slot_mbps < kMaxSlotToLine * *card->speed_mbps &&
        rate_mbps > kMinFullShare * *card->slot_mbps) {
      return card;
    }
  }
  return nullptr;
}

bool Route::is_shared() const { return shared_share() > kMinSharedShare; }

bool Route::is_shared_with_job() const { return beside_mbps() > shared_mbps() / 2; }

double Route::others_mbps() const { return std::max(sender.others_mbps, receiver.others_mbps); }

double Route::beside_mbps() const { return std::max(sender.beside_mbps, receiver.beside_mbps); }

double Route::shared_mbps() const {
  return std::max(sender.others_mbps + sender.beside_mbps,
                  receiver.others_mbps + receiver.beside_mbps);
}

double Route::shared_share() const {
  const double shared = shared_mbps();
  return shared > 0 ? shared / (shared + rate_mbps) : 0;
}

const Card* Route::storage() const {
  const auto is_most_of_it = [](const Card& card) {
    return card.nfs_mbps > kMinStorageShare * card.others_mbps &&
           card.nfs_mbps < kMaxStorageShare * card.others_mbps;
  };
  return is_most_of_it(sender) ? &sender : is_most_of_it(receiver) ? &receiver : nullptr;
}

Route route_of(const DiagnosisInput& input, const DirectionLimits& direction) {
  const DirectionView& view = direction.view;
  const Connection& connection = input.run.connections[view.connection];
  const auto from = static_cast<std::size_t>(view.direction);
  Route route{.from = connection.names.at(from), .to = connection.names.at(1 - from)};
  if (view.sender) {
    route.sender = card_of(input, *view.sender, *view.at_sender, true);
  }
  if (view.receiver) {
    route.receiver = card_of(input, *view.receiver, *view.at_receiver, false);
  }
  route.rtt_ms = direction.facts.min_rtt_us / 1e3;
  route.rate_mbps = direction.rate_mbps;
  route.is_wan = route.rtt_ms >= input.options.wan_rtt_ms && !is_others_queue(route, direction);
  return route;
}

const DirectionLimits* main_direction_of(const DiagnosisInput& input, const Where& where) {
  const DirectionLimits* most = nullptr;
  double most_ns = -1;
  for (const DirectionLimits& direction : input.limit_timeline.directions) {
    const Route route = route_of(input, direction);
    const double held_ns = direction.held.sum();
    if (route.from == where.from && route.to == where.to && held_ns > most_ns) {
      most = &direction;
      most_ns = held_ns;
    }
  }
  return most;
}

std::optional<BetterRoute> better_route(const DiagnosisInput& input,
                                        const DirectionLimits& direction, const Route& route) {
  auto better = better_interface(input, direction.view, route);
  return better ? better : better_family(input, direction.view, route);
}

// Ranks meet at MASTER_ADDR, and then exchange data between the addresses that their library offers
// of itself. Gloo and TensorPipe (torch RPC) offer the first address of the interface that is named
// to them, which is IPv4 on a host that has both, else the first that the host's name leads to: the
// family may be another one than that of MASTER_ADDR, and then it must pass, too.

namespace {

// A judgement: the job's own output would show it, and is not read.
constexpr double kFamilyConfidence = 0.8;

const char* name_of_family(net::Family family) {
  return family == net::Family::Ipv4 ? "IPv4" : "IPv6";
}

// A variable in the environment of a node's ranks.
std::string variable_of(const NodeData& node, const char* variable) {
  return fact_text(node, "environment", "ranks", variable);
}

struct MeetingPoint {
  std::string address = {};
  net::Family family = net::Family::Ipv4;
};

// The first connection of another host to MASTER_PORT, else MASTER_ADDR where it is no name.
std::optional<MeetingPoint> meeting_of(const RunData& run) {
  for (const NodeData& node : run.nodes) {
    const auto port =
        sys::parse_number<std::int64_t>(variable_of(node, "MASTER_PORT")).value_or(-1);
    for (const FlowData& flow : node.flows) {
      const bool is_a = flow.row.a_port == port;
      const bool is_b = flow.row.b_port == port;
      const auto address = net::Address::parse(is_a ? flow.row.a_address : flow.row.b_address);
      if ((is_a || is_b) && address && flow.row.a_address != flow.row.b_address) {
        return MeetingPoint{address->text(), address->family()};
      }
    }
    if (const auto address = net::Address::parse(variable_of(node, "MASTER_ADDR"))) {
      return MeetingPoint{address->text(), address->family()};
    }
  }
  return std::nullopt;
}

// The node and the address that a library with this variable offers there.
std::optional<Evidence> offer_of(const NodeData& node, const char* variable, net::Family meeting) {
  const std::string named = variable_of(node, variable);
  const Interface* interface = node.interface(named);
  const std::string offered =
      interface == nullptr ? fact_text(node, "name", "", "address")
      : interface->addresses.empty()
          ? ""
          : interface->addresses.front().substr(0, interface->addresses.front().find('/'));
  const auto address = net::Address::parse(offered);
  if (!address || address->family() == meeting) return std::nullopt;
  const std::string by =
      interface != nullptr ? fmt::format("{}={}", variable, named) : "the name of the host";
  return Evidence{.what = fmt::format("{} offers its peers {}, by {}", node.name, offered, by),
                  .from = "environment and addresses of " + node.name};
}

bool has_data_over(const RunData& run, net::Family family) {
  return std::ranges::any_of(run.connections, [&](const Connection& connection) {
    const auto address = net::Address::parse(connection.row.a_address);
    return address && address->family() == family &&
           connection.row.a_address != connection.row.b_address;
  });
}

Evidence met(const MeetingPoint& meeting) {
  return {.what = fmt::format("the ranks meet at {}, over {}", meeting.address,
                              name_of_family(meeting.family)),
          .from = "environment and connections"};
}

}  // namespace

void explain_failure(const RunData& run, Verdict& verdict) {
  const auto meeting = meeting_of(run);
  if (verdict.cause != Cause::JobFailed || !meeting) return;
  std::vector<Evidence> offers;
  for (const NodeData& node : run.nodes) {
    for (const char* variable : {"TP_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
      auto offer = offer_of(node, variable, meeting->family);
      if (offer && std::ranges::count(offers, offer->what, &Evidence::what) == 0) {
        offers.push_back(*std::move(offer));
      }
    }
  }
  const net::Family other = net::other(meeting->family);
  if (offers.empty() || has_data_over(run, other)) return;
  verdict.verdict = VerdictClass::WrongPath;
  verdict.cause = Cause::MeetingFamily;
  verdict.where = {};
  verdict.confidence = kFamilyConfidence;
  offers.insert(offers.begin(), met(*meeting));
  verdict.evidence.insert(verdict.evidence.begin(), offers.begin(), offers.end());
}

void remark_family(const RunData& run, Verdict& verdict) {
  const auto meeting = meeting_of(run);
  if (!meeting || verdict.cause == Cause::MeetingFamily) return;
  const net::Family other = net::other(meeting->family);
  if (!has_data_over(run, other)) return;
  verdict.evidence.push_back(met(*meeting));
  verdict.evidence.push_back(
      {.what = fmt::format("their data go over {}, which was not asked for", name_of_family(other)),
       .from = "connections"});
}

}  // namespace chokepoint::analysis
