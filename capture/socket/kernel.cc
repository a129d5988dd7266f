#include "capture/socket/kernel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/net/netlink.h"
#include "base/net/rtnetlink.h"
#include "base/sys/descriptor.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture::socket {
namespace {

constexpr const char* kEnter = "enter network namespace";
constexpr const char* kLoopback = "lo";

bool is_ipv4_loopback(const packet::Address& address) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), address.words.data(), bytes.size());
  const std::array<std::uint8_t, 13> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  return std::equal(mapped.begin(), mapped.end(), bytes.begin());
}

void add_names(Interfaces& interfaces) {
  const std::unique_ptr<struct if_nameindex[], decltype(&if_freenameindex)> names(if_nameindex(),
                                                                                  if_freenameindex);
  for (std::size_t at = 0; names && names[at].if_index != 0; ++at) {
    interfaces.add(static_cast<int>(names[at].if_index), names[at].if_name);
  }
}

// Of the network namespace that the calling thread is in.
Result<Interfaces> read_interfaces() {
  TRY(const net::AddressesByIndex dumped, net::dump_addresses());
  Interfaces interfaces;
  add_names(interfaces);
  for (const auto& [index, addresses] : dumped) {
    for (const net::InterfaceAddress& own : addresses) {
      interfaces.add(packet::as_in_packets(own.address), index);
    }
  }
  return interfaces;
}

// Does `work` inside another network namespace, on a thread of its own, so that the caller's stays
// where it is, and waits for its end. Sockets opened there stay there. `network`: an open
// /proc/PID/ns/net. Needs CAP_SYS_ADMIN.
Result<> inside(int network, const std::function<void()>& work) {
  int code = 0;
  try {
    std::thread([&] {
      code = setns(network, CLONE_NEWNET) == 0 ? 0 : errno;
      if (code == 0) {
        work();
      }
    }).join();
  } catch (const std::system_error& error) {
    return fail(from_errno(error.code().value(), kEnter, "thread"));
  }
  return code == 0 ? Result<>() : fail(from_errno(code, kEnter, "of the job"));
}

constexpr int kReceiveBytes = 1 << 20;
constexpr std::uint8_t kInfo = 1U << (INET_DIAG_INFO - 1);
constexpr std::uint32_t kStates = 1U << TCP_ESTABLISHED | 1U << TCP_SYN_SENT | 1U << TCP_FIN_WAIT1 |
                                  1U << TCP_FIN_WAIT2 | 1U << TCP_CLOSE_WAIT | 1U << TCP_LAST_ACK |
                                  1U << TCP_LISTEN | 1U << TCP_CLOSING;
constexpr unsigned kDestroyed =
    1U << (SKNLGRP_INET_TCP_DESTROY - 1) | 1U << (SKNLGRP_INET6_TCP_DESTROY - 1);
// Events read in one call; the rest is read in the next.
constexpr std::size_t kMaxEvents = 8'192;

constexpr const char* kList = "list sockets";
constexpr const char* kListen = "listen for closed sockets";
constexpr const char* kSubject = "sock_diag";

// Beyond net.core.rmem_max, where CAP_NET_ADMIN allows it.
void widen(const net::NetlinkSocket& socket) {
  const int fd = socket.fd();
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof(kReceiveBytes)) != 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof(kReceiveBytes));
  }
}

inet_diag_req_v2 request_for(std::uint8_t family, std::uint32_t states) {
  inet_diag_req_v2 request{};
  request.sdiag_family = family;
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_ext = kInfo;
  request.idiag_states = states;
  return request;
}

// sock_diag over netlink, in the calling thread's network namespace or in another:
//
//   requests ── dump ──▶                     ──▶ parts … done
//   requests ── one datagram, many names ──▶ ──▶ a reply for each
//   events      (joined: the groups that report destroyed sockets) ──▶ last states
class LiveKernel final : public Kernel {
 public:
  explicit LiveKernel(sys::Descriptor inside) : inside_(std::move(inside)) {}

  Result<> open() {
    if (!inside_) {
      return open_sockets();
    }
    Result<> opened;
    TRY(inside(inside_.get(), [&] { opened = open_sockets(); }));
    return opened;
  }

  Result<> dump(const Take& take) override {
    TRY(dump(AF_INET, take));
    const Result<> done = dump(AF_INET6, take);
    // A kernel without IPv6.
    return !done && done.error().code == ENOENT ? Result<>() : done;
  }

  Result<> query(std::span<const Name> wanted, const TakeOne& take) override {
    for (std::size_t first = 0; first < wanted.size(); first += kBatch) {
      const std::span<const Name> batch =
          wanted.subspan(first, std::min(kBatch, wanted.size() - first));
      TRY(send_names(batch));
      take_replies(batch.size(), first, take);
      sequence_ += static_cast<std::uint32_t>(kBatch);
    }
    return {};
  }

  Result<> destroyed(const Take& take) override {
    if (!events_) {
      return fail(events_.error());
    }
    int lost = 0;
    for (std::size_t taken = 0; taken < kMaxEvents;) {
      const Received received = receive(*events_);
      if (received.count == 0 && received.error != ENOBUFS) {
        break;
      }
      lost = received.error != 0 ? received.error : lost;
      taken += received.count;
      for (std::size_t at = 0; at < received.count; ++at) {
        for_each_reply(std::span(replies_[at]).first(lengths_[at]), [&](const Reply& reply) {
          if (reply.reading) {
            take(*reply.reading);
          }
        });
      }
    }
    return lost == 0 ? Result<>() : fail(from_errno(lost, kListen, kSubject));
  }

  Result<Interfaces> interfaces() override {
    if (!inside_) {
      return read_interfaces();
    }
    Result<Interfaces> found;
    TRY(inside(inside_.get(), [&] { found = read_interfaces(); }));
    return found;
  }

 private:
  struct Received {
    std::size_t count = 0;  // datagrams in replies_
    int error = 0;          // errno: why there is none, or why one of them is missing
  };

  // Replies to single requests that are read from the kernel in one call.
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kReplyBytes = 1024;
  static constexpr std::size_t kDumpBytes = 65'536;

  Result<> open_sockets() {
    TRY(requests_, net::NetlinkSocket::open({.protocol = NETLINK_SOCK_DIAG}, kList, kSubject));
    widen(requests_);
    events_ = net::NetlinkSocket::open(
        {.protocol = NETLINK_SOCK_DIAG, .groups = kDestroyed, .flags = SOCK_NONBLOCK}, kListen,
        kSubject);
    if (events_) {
      widen(*events_);
    }
    return {};
  }

  Result<> dump(std::uint8_t family, const Take& take) {
    net::NetlinkRequests request(buffer_);
    request.begin(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, ++sequence_, request_for(family, kStates));
    TRY(requests_.send(request.bytes()));
    const auto take_message = [&](const nlmsghdr& header, std::span<const std::byte> payload) {
      if (const Reply reply = reply_of(header, payload); reply.reading) {
        take(*reply.reading);
      }
    };
    TRY(requests_.receive_dump(sequence_, buffer_, take_message));
    return {};
  }

  Result<> send_names(std::span<const Name> wanted) {
    net::NetlinkRequests requests(buffer_);
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      inet_diag_req_v2 request = request_for(wanted[at].family, ~0U);
      request.id = wanted[at].id;
      requests.begin(SOCK_DIAG_BY_FAMILY, 0, sequence_ + 1 + static_cast<std::uint32_t>(at),
                     request);
    }
    return requests_.send(requests.bytes());
  }

  // All replies are there when the request has been sent; those that found no room never come.
  void take_replies(std::size_t wanted, std::size_t first, const TakeOne& take) {
    std::size_t taken = 0;
    while (taken < wanted) {
      const Received received = receive(requests_);
      if (received.count == 0 && received.error != ENOBUFS) {
        return;
      }
      for (std::size_t at = 0; at < received.count; ++at) {
        for_each_reply(std::span(replies_[at]).first(lengths_[at]), [&](const Reply& reply) {
          const std::uint32_t index = reply.sequence - sequence_ - 1;
          if (index >= wanted) {
            return;
          }
          ++taken;
          if (reply.reading || reply.error == ENOENT || reply.error == ESTALE) {
            take(first + index, reply.reading ? &*reply.reading : nullptr);
          }
        });
      }
    }
  }

  // Without waiting. What is cut short or not from the kernel has length 0.
  Received receive(const net::NetlinkSocket& socket) {
    std::array<iovec, kBatch> places{};
    std::array<sockaddr_nl, kBatch> senders{};
    std::array<mmsghdr, kBatch> messages{};
    for (std::size_t at = 0; at < kBatch; ++at) {
      places[at] = {.iov_base = replies_[at].data(), .iov_len = kReplyBytes};
      messages[at].msg_hdr.msg_name = &senders[at];
      messages[at].msg_hdr.msg_namelen = sizeof(sockaddr_nl);
      messages[at].msg_hdr.msg_iov = &places[at];
      messages[at].msg_hdr.msg_iovlen = 1;
    }
    const int count = recvmmsg(socket.fd(), messages.data(), kBatch, MSG_DONTWAIT, nullptr);
    if (count < 0) {
      return {.error = errno};
    }
    Received received{.count = static_cast<std::size_t>(count)};
    for (std::size_t at = 0; at < received.count; ++at) {
      const msghdr& message = messages[at].msg_hdr;
      const bool is_kernels = net::is_from_kernel(message);
      const bool is_cut = (message.msg_flags & MSG_TRUNC) != 0;
      lengths_[at] = is_kernels && !is_cut ? messages[at].msg_len : 0;
      received.error = is_kernels && is_cut ? EMSGSIZE : received.error;
    }
    return received;
  }

  sys::Descriptor inside_;  // another network namespace; closed: the thread's own
  net::NetlinkSocket requests_;
  Result<net::NetlinkSocket> events_;
  std::uint32_t sequence_ = 0;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kDumpBytes);
  std::vector<std::array<std::byte, kReplyBytes>> replies_ =
      std::vector<std::array<std::byte, kReplyBytes>>(kBatch);
  std::array<std::size_t, kBatch> lengths_ = {};
};

}  // namespace

std::string Interfaces::of(const packet::Ends& ends, std::uint32_t bound_to) const {
  if (is_own(ends.destination) && is_own(ends.source)) {
    return kLoopback;
  }
  if (bound_to != 0) {
    return name_of(static_cast<int>(bound_to));
  }
  const auto known = by_address_.find(ends.source);
  return known == by_address_.end() ? std::string() : name_of(known->second);
}

bool Interfaces::is_own(const packet::Address& address) const {
  return by_address_.contains(address) || is_ipv4_loopback(address);
}

std::string Interfaces::name_of(int index) const {
  const auto known = names_.find(index);
  return known == names_.end() ? std::string() : known->second;
}

Result<std::unique_ptr<Kernel>> open_kernel(const sys::Root& root, const Network& network) {
  sys::Descriptor other;
  if (network.inode != 0) {
    const std::string path = fmt::format("/proc/{}/ns/net", network.pid);
    other.reset(::open(root.at(path).c_str(), O_RDONLY | O_CLOEXEC));
    if (!other) {
      return fail(from_errno(errno, kEnter, path));
    }
  }
  auto kernel = std::make_unique<LiveKernel>(std::move(other));
  TRY(kernel->open());
  return kernel;
}

}  // namespace chokepoint::capture::socket
