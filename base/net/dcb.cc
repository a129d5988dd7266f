#include "base/net/dcb.h"

#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace chokepoint::net {
namespace {

constexpr unsigned kSequence = 1;
constexpr std::size_t kBufferBytes = 8192;
constexpr int kPriorities = 8;

struct Close {
  void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
};
using Socket = std::unique_ptr<mnl_socket, Close>;
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
