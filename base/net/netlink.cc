#include "base/net/netlink.h"

#include <sys/time.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace chokepoint::net {
namespace {

// The kernel's errors are -1 to -4095 (MAX_ERRNO).
int errno_of(int result) {
  constexpr int kMaxErrors = 4'095;
  return result < -kMaxErrors ? EBADMSG : -std::min(result, 0);
}

}  // namespace

std::span<const std::byte> attribute_of(std::span<const std::byte> attributes, int type) {
  while (const auto attribute = take_attribute(attributes)) {
    if (attribute->type == type) {
      return attribute->payload;
    }
  }
  return {};
}

int error_in(const nlmsghdr& header, std::span<const std::byte> payload) {
  if (header.nlmsg_type == NLMSG_DONE) {
    return errno_of(value_at_front<int>(payload).value_or(0));
  }
  if (header.nlmsg_type == NLMSG_ERROR) {
    return errno_of(value_at_front<int>(payload).value_or(-EBADMSG));
  }
  return 0;
}

void NetlinkRequests::begin(std::uint16_t type, unsigned flags, std::uint32_t sequence,
                            std::span<const std::byte> body) {
  start_ = size_;
  const nlmsghdr header{.nlmsg_len = sizeof(nlmsghdr),
                        .nlmsg_type = type,
                        .nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags),
                        .nlmsg_seq = sequence,
                        .nlmsg_pid = 0};
  append(std::as_bytes(std::span(&header, 1)));
  append(body);
}

void NetlinkRequests::add_attribute(std::uint16_t type, std::span<const std::byte> payload) {
  constexpr std::size_t kMaxPayload = std::numeric_limits<std::uint16_t>::max() - sizeof(nlattr);
  fits_ = fits_ && payload.size() <= kMaxPayload;
  const nlattr header{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + payload.size()),
                      .nla_type = type};
  append(std::as_bytes(std::span(&header, 1)));
  append(payload);
}

void NetlinkRequests::append(std::span<const std::byte> part) {
  const std::size_t length = netlink_aligned(part.size());
  if (!fits_ || length > buffer_.size() - size_) {
    fits_ = false;
    return;
  }
  const std::span<std::byte> place = buffer_.subspan(size_, length);
  std::ranges::fill(place, std::byte{0});  // the padding, too
  std::ranges::copy(part, place.begin());
  size_ += length;
  const auto so_far = static_cast<std::uint32_t>(size_ - start_);
  std::memcpy(buffer_.data() + start_ + offsetof(nlmsghdr, nlmsg_len), &so_far, sizeof(so_far));
}

std::span<const std::byte> NetlinkRequests::bytes() const {
  return buffer_.first(fits_ ? size_ : 0);
}

bool is_from_kernel(const msghdr& received) {
  if (received.msg_namelen != sizeof(sockaddr_nl)) {
    return false;
  }
  sockaddr_nl sender{};
  std::memcpy(&sender, received.msg_name, sizeof(sender));
  return sender.nl_family == AF_NETLINK && sender.nl_pid == 0;
}

Result<NetlinkSocket> NetlinkSocket::open(const NetlinkOptions& options, std::string_view operation,
                                          std::string_view subject) {
  NetlinkSocket opened(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | options.flags, options.protocol), operation,
      subject);
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups = options.groups;
  socklen_t size = sizeof(own);
  auto* address = reinterpret_cast<sockaddr*>(&own);
  // The kernel replies at once; the timeout is for a kernel that never does.
  const timeval deadline{.tv_sec = 1, .tv_usec = 0};
  if (!opened.fd_ || ::bind(opened.fd(), address, size) != 0 ||
      ::getsockname(opened.fd(), address, &size) != 0 ||
      ::setsockopt(opened.fd(), SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline)) != 0) {
    return fail(opened.error(errno));
  }
  opened.port_ = own.nl_pid;
  return opened;
}

Result<> NetlinkSocket::send(std::span<const std::byte> requests) const {
  if (requests.empty()) {
    return fail(error(EMSGSIZE));
  }
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const ssize_t sent = ::sendto(fd(), requests.data(), requests.size(), 0,
                                reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel));
  return sent < 0 ? fail(error(errno)) : Result<>();
}

Result<std::size_t> NetlinkSocket::receive(std::span<std::byte> buffer) const {
  while (true) {
    iovec place{.iov_base = buffer.data(), .iov_len = buffer.size()};
    sockaddr_nl sender{};
    msghdr received{};
    received.msg_name = &sender;
    received.msg_namelen = sizeof(sender);
    received.msg_iov = &place;
    received.msg_iovlen = 1;
    const ssize_t size = ::recvmsg(fd(), &received, 0);
    if (size < 0 && errno != EINTR) {
      return fail(error(errno));
    }
    if (size < 0 || !is_from_kernel(received)) {
      continue;
    }
    if ((received.msg_flags & MSG_TRUNC) != 0) {
      return fail(error(EMSGSIZE));
    }
    return static_cast<std::size_t>(size);
  }
}

}  // namespace chokepoint::net
