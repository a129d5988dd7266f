// Ranks meet at MASTER_ADDR, and then exchange data between the addresses that their library offers
// of itself. Gloo and TensorPipe (torch RPC) offer the first address of the interface that is named
// to them, which is IPv4 on a host that has both, else the first that the host's name leads to: the
// family may be another one than that of MASTER_ADDR, and then it must pass, too.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/attribution/findings.h"
#include "analysis/attribution/hosts.h"
#include "base/net/address.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr double kProbably = 0.8;  // the job's own output says more, and is not read

const char* words_for(net::Family family) { return family == net::Family::Ipv4 ? "IPv4" : "IPv6"; }

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
                              words_for(meeting.family)),
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
  const net::Family other =
      meeting->family == net::Family::Ipv4 ? net::Family::Ipv6 : net::Family::Ipv4;
  if (offers.empty() || has_data_over(run, other)) return;
  verdict.verdict = VerdictClass::WrongPath;
  verdict.cause = Cause::MeetingFamily;
  verdict.where = {};
  verdict.confidence = kProbably;
  offers.insert(offers.begin(), met(*meeting));
  verdict.evidence.insert(verdict.evidence.begin(), offers.begin(), offers.end());
}

void remark_family(const RunData& run, Verdict& verdict) {
  const auto meeting = meeting_of(run);
  if (!meeting || verdict.cause == Cause::MeetingFamily) return;
  const net::Family other =
      meeting->family == net::Family::Ipv4 ? net::Family::Ipv6 : net::Family::Ipv4;
  if (!has_data_over(run, other)) return;
  verdict.evidence.push_back(met(*meeting));
  verdict.evidence.push_back(
      {.what = fmt::format("their data go over {}, which nobody asked for", words_for(other)),
       .from = "connections"});
}

}  // namespace chokepoint::analysis
