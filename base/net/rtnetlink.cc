#include "base/net/rtnetlink.h"

#include <linux/dcbnl.h>
#include <linux/if_addr.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/net/netlink.h"

namespace chokepoint::net {
namespace {

constexpr std::size_t kBufferBytes = 32768;  // the largest datagram of a dump

// Sends a dump's request whose body is a `Body` of zeros and makes Rows of the messages. The dump
// is repeated where the kernel's table changed meanwhile.
template <class Body, class Rows>
Result<Rows> dump(std::uint16_t type,
                  void (*take)(const Body&, std::span<const std::byte> attributes, Rows&)) {
  constexpr std::uint32_t kMaxRepeats = 3;
  TRY(const auto socket, NetlinkSocket::open({.protocol = NETLINK_ROUTE}, "rtnetlink", "dump"));
  std::vector<std::byte> buffer(kBufferBytes);
  for (std::uint32_t sequence = 1; sequence <= 1 + kMaxRepeats; ++sequence) {
    NetlinkRequests request(buffer);
    request.begin(type, NLM_F_DUMP, sequence, Body{});
    TRY(socket.send(request.bytes()));
    Rows rows;
    const auto add = [&](const nlmsghdr&, std::span<const std::byte> payload) {
      if (const auto body = value_at_front<Body>(payload)) {
        take(*body, behind(payload, sizeof(Body)), rows);
      }
    };
    TRY(const bool is_whole, socket.receive_dump(sequence, buffer, add));
    if (is_whole) {
      return rows;
    }
  }
  return fail(from_errno(EINTR, "rtnetlink", "dump"));
}

std::optional<Address> address_of(const ifaddrmsg& body, std::span<const std::byte> payload) {
  if (body.ifa_family == AF_INET) {
    const auto address = value_at_front<in_addr>(payload);
    return address ? std::optional(Address::v4(*address)) : std::nullopt;
  }
  const auto address = value_at_front<in6_addr>(payload);
  if (body.ifa_family != AF_INET6 || !address) {
    return std::nullopt;
  }
  return Address::v6(*address, body.ifa_scope == RT_SCOPE_LINK ? body.ifa_index : 0);
}

// IFA_LOCAL is this host's end of a point-to-point link, where IFA_ADDRESS is the other; an IPv6
// address has IFA_ADDRESS alone.
void take_address(const ifaddrmsg& body, std::span<const std::byte> attributes,
                  AddressesByIndex& addresses) {
  const std::span<const std::byte> local = attribute_of(attributes, IFA_LOCAL);
  const auto address =
      address_of(body, local.empty() ? attribute_of(attributes, IFA_ADDRESS) : local);
  if (address) {
    addresses[static_cast<int>(body.ifa_index)].push_back({*address, body.ifa_prefixlen});
  }
}

struct Qdisc {
  int index;
  bool is_root;
  std::string kind;
};

void take_qdisc(const tcmsg& body, std::span<const std::byte> attributes,
                std::vector<Qdisc>& qdiscs) {
  const std::span<const std::byte> kind = attribute_of(attributes, TCA_KIND);
  const auto end = std::ranges::find(kind, std::byte{0});
  // Without its NUL it is cut short.
  const auto length = end == kind.end() ? 0 : static_cast<std::size_t>(end - kind.begin());
  qdiscs.push_back({body.tcm_ifindex, body.tcm_parent == TC_H_ROOT,
                    std::string(reinterpret_cast<const char*>(kind.data()), length)});
}

}  // namespace

Result<AddressesByIndex> dump_addresses() { return dump(RTM_GETADDR, take_address); }

Result<QdiscsByIndex> dump_qdiscs() {
  TRY(const std::vector<Qdisc> dumped, dump(RTM_GETQDISC, take_qdisc));
  QdiscsByIndex qdiscs;
  for (const bool root : {true, false}) {
    for (const Qdisc& qdisc : dumped) {
      std::vector<std::string>& kinds = qdiscs[qdisc.index];
      if (qdisc.is_root == root && !qdisc.kind.empty() &&
          std::ranges::find(kinds, qdisc.kind) == kinds.end()) {
        kinds.push_back(qdisc.kind);
      }
    }
  }
  return qdiscs;
}

namespace {

constexpr int kPriorities = 8;

std::optional<PriorityFlowControl> control_in(std::span<const std::byte> message) {
  const std::span<const std::byte> all =
      attribute_of(behind(message, sizeof(dcbmsg)), DCB_ATTR_IEEE);
  const auto settings = value_at_front<ieee_pfc>(attribute_of(all, DCB_ATTR_IEEE_PFC));
  if (!settings) {
    return std::nullopt;
  }
  PriorityFlowControl control;
  for (int priority = 0; priority < kPriorities; ++priority) {
    if ((settings->pfc_en & (1U << static_cast<unsigned>(priority))) != 0) {
      control.enabled.push_back(priority);
    }
  }
  return control;
}

}  // namespace

std::optional<PriorityFlowControl> priority_flow_control_in(std::span<const std::byte> answer) {
  std::optional<PriorityFlowControl> found;
  for_each_message(answer, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
    if (!found && header.nlmsg_type == RTM_GETDCB) {
      found = control_in(payload);
    }
  });
  return found;
}

Result<PriorityFlowControl> priority_flow_control(const std::string& interface) {
  if (interface.size() >= IFNAMSIZ) {
    return fail(from_errno(ENODEV, "DCB", interface));
  }
  TRY(const auto socket, NetlinkSocket::open({.protocol = NETLINK_ROUTE}, "DCB", interface));
  std::array<std::byte, kBufferBytes> buffer{};
  NetlinkRequests question(buffer);
  question.begin(RTM_GETDCB, 0, 1, dcbmsg{.dcb_family = 0, .cmd = DCB_CMD_IEEE_GET, .dcb_pad = 0});
  // With its NUL.
  question.add_attribute(DCB_ATTR_IFNAME,
                         std::as_bytes(std::span(interface.c_str(), interface.size() + 1)));
  TRY(socket.send(question.bytes()));
  TRY(const std::size_t size, socket.receive(buffer));
  const std::span<const std::byte> answer = std::span(buffer).first(size);
  if (auto control = priority_flow_control_in(answer)) {
    return *std::move(control);
  }
  int code = 0;
  for_each_message(answer, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
    code = code == 0 ? error_in(header, payload) : code;
  });
  return fail(from_errno(code == 0 ? EOPNOTSUPP : code, "DCB", interface));
}

}  // namespace chokepoint::net
