#include "base/net/rtnetlink.h"

#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/if_addr.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

namespace chokepoint::net {
namespace {

constexpr unsigned kSequence = 1;
constexpr std::size_t kBufferBytes = 32768;

struct Close {
  void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
};
using Socket = std::unique_ptr<mnl_socket, Close>;

Result<Socket> open_socket() {
  Socket socket(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC));
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
    return fail(from_errno(errno, "rtnetlink", "socket"));
  }
  return socket;
}

// Sends a dump request whose body is a `Body` of zeros and calls `take` for each message.
template <class Body>
Result<> dump(std::uint16_t type, mnl_cb_t take, void* into) {
  TRY(const Socket socket, open_socket());
  std::vector<char> buffer(kBufferBytes);
  nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
  header->nlmsg_type = type;
  header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  header->nlmsg_seq = kSequence;
  mnl_nlmsg_put_extra_header(header, sizeof(Body));
  if (mnl_socket_sendto(socket.get(), header, header->nlmsg_len) < 0) {
    return fail(from_errno(errno, "rtnetlink", "dump"));
  }
  const unsigned port = mnl_socket_get_portid(socket.get());
  int more = 1;
  while (more > 0) {
    const ssize_t count = mnl_socket_recvfrom(socket.get(), buffer.data(), buffer.size());
    more = count < 0 ? -1
                     : mnl_cb_run(buffer.data(), static_cast<std::size_t>(count), kSequence, port,
                                  take, into);
  }
  if (more < 0) {
    return fail(from_errno(errno, "rtnetlink", "dump"));
  }
  return {};
}

std::optional<Address> address_of(const ifaddrmsg& body, const nlattr* attribute) {
  const void* payload = mnl_attr_get_payload(attribute);
  const std::size_t size = mnl_attr_get_payload_len(attribute);
  if (body.ifa_family == AF_INET && size >= sizeof(in_addr)) {
    in_addr address{};
    std::memcpy(&address, payload, sizeof(address));
    return Address::v4(address);
  }
  if (body.ifa_family == AF_INET6 && size >= sizeof(in6_addr)) {
    in6_addr address{};
    std::memcpy(&address, payload, sizeof(address));
    return Address::v6(address, body.ifa_scope == RT_SCOPE_LINK ? body.ifa_index : 0);
  }
  return std::nullopt;
}

// IFA_LOCAL is this host's end of a point-to-point link, where IFA_ADDRESS is the other; an IPv6
// address has IFA_ADDRESS alone.
struct Ends {
  const nlattr* local = nullptr;
  const nlattr* address = nullptr;
};

int take_end(const nlattr* attribute, void* into) {
  auto& ends = *static_cast<Ends*>(into);
  if (mnl_attr_get_type(attribute) == IFA_LOCAL) {
    ends.local = attribute;
  } else if (mnl_attr_get_type(attribute) == IFA_ADDRESS) {
    ends.address = attribute;
  }
  return MNL_CB_OK;
}

int take_address(const nlmsghdr* header, void* into) {
  const auto* body = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(header));
  Ends ends;
  mnl_attr_parse(header, sizeof(ifaddrmsg), take_end, &ends);
  const nlattr* end = ends.local != nullptr ? ends.local : ends.address;
  const auto address = end == nullptr ? std::nullopt : address_of(*body, end);
  if (address) {
    auto& addresses = *static_cast<AddressesByIndex*>(into);
    addresses[static_cast<int>(body->ifa_index)].push_back({*address, body->ifa_prefixlen});
  }
  return MNL_CB_OK;
}

struct Qdisc {
  int index;
  bool is_root;
  std::string kind;
};

int take_kind(const nlattr* attribute, void* into) {
  if (mnl_attr_get_type(attribute) == TCA_KIND &&
      mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0) {
    *static_cast<std::string*>(into) = mnl_attr_get_str(attribute);
  }
  return MNL_CB_OK;
}

int take_qdisc(const nlmsghdr* header, void* into) {
  const auto* body = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(header));
  std::string kind;
  mnl_attr_parse(header, sizeof(tcmsg), take_kind, &kind);
  static_cast<std::vector<Qdisc>*>(into)->push_back(
      {body->tcm_ifindex, body->tcm_parent == TC_H_ROOT, std::move(kind)});
  return MNL_CB_OK;
}

}  // namespace

Result<AddressesByIndex> dump_addresses() {
  AddressesByIndex addresses;
  TRY(dump<ifaddrmsg>(RTM_GETADDR, take_address, &addresses));
  return addresses;
}

Result<QdiscsByIndex> dump_qdiscs() {
  std::vector<Qdisc> dumped;
  TRY(dump<tcmsg>(RTM_GETQDISC, take_qdisc, &dumped));

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

using Buffer = std::array<char, kBufferBytes>;

nlmsghdr* put_question(Buffer& buffer, const std::string& interface) {
  nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
  header->nlmsg_type = RTM_GETDCB;
  header->nlmsg_flags = NLM_F_REQUEST;
  header->nlmsg_seq = kSequence;
  auto* body = static_cast<dcbmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(dcbmsg)));
  body->cmd = DCB_CMD_IEEE_GET;
  mnl_attr_put_strz(header, DCB_ATTR_IFNAME, interface.c_str());
  return header;
}

// The first attribute of that type; null where there is none.
struct Wanted {
  int type = 0;
  const nlattr* found = nullptr;
};

int take_wanted(const nlattr* attribute, void* into) {
  auto& wanted = *static_cast<Wanted*>(into);
  if (wanted.found == nullptr && mnl_attr_get_type(attribute) == wanted.type) {
    wanted.found = attribute;
  }
  return MNL_CB_OK;
}

int error_in(const nlmsghdr* header) {
  if (header->nlmsg_type != NLMSG_ERROR || mnl_nlmsg_get_payload_len(header) < sizeof(nlmsgerr)) {
    return 0;
  }
  return -static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(header))->error;
}

}  // namespace

std::optional<PriorityFlowControl> priority_flow_control_in(std::span<const std::byte> answer) {
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer.data());
  if (!mnl_nlmsg_ok(header, static_cast<int>(answer.size())) || header->nlmsg_type != RTM_GETDCB ||
      mnl_nlmsg_get_payload_len(header) < sizeof(dcbmsg)) {
    return std::nullopt;
  }
  Wanted all{.type = DCB_ATTR_IEEE};
  mnl_attr_parse(header, sizeof(dcbmsg), take_wanted, &all);
  Wanted pfc{.type = DCB_ATTR_IEEE_PFC};
  if (all.found != nullptr) {
    mnl_attr_parse_nested(all.found, take_wanted, &pfc);
  }
  if (pfc.found == nullptr || mnl_attr_get_payload_len(pfc.found) < sizeof(ieee_pfc)) {
    return std::nullopt;
  }
  ieee_pfc settings{};
  std::memcpy(&settings, mnl_attr_get_payload(pfc.found), sizeof(settings));
  PriorityFlowControl control;
  for (int priority = 0; priority < kPriorities; ++priority) {
    if ((settings.pfc_en & (1U << static_cast<unsigned>(priority))) != 0) {
      control.enabled.push_back(priority);
    }
  }
  return control;
}

Result<PriorityFlowControl> priority_flow_control(const std::string& interface) {
  const Socket socket(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC));
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
    return fail(from_errno(errno, "DCB", interface));
  }
  if (interface.size() >= IFNAMSIZ) {
    return fail(from_errno(ENODEV, "DCB", interface));
  }
  alignas(nlmsghdr) Buffer buffer{};
  const nlmsghdr* question = put_question(buffer, interface);
  ssize_t count = mnl_socket_sendto(socket.get(), question, question->nlmsg_len);
  if (count >= 0) {
    count = mnl_socket_recvfrom(socket.get(), buffer.data(), buffer.size());
  }
  if (count < 0) {
    return fail(from_errno(errno, "DCB", interface));
  }
  const std::span answer(buffer.data(), static_cast<std::size_t>(count));
  if (const auto control = priority_flow_control_in(std::as_bytes(answer))) {
    return *control;
  }
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
  const bool is_whole = mnl_nlmsg_ok(header, static_cast<int>(count));
  const int error = is_whole ? error_in(header) : 0;
  return fail(from_errno(error == 0 ? EOPNOTSUPP : error, "DCB", interface));
}

}  // namespace chokepoint::net
