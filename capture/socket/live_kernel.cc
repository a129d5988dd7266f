#include "capture/socket/live_kernel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "capture/socket/inside.h"

namespace chokepoint::capture::socket {
namespace {

constexpr int kReceiveBytes = 1 << 20;
constexpr std::uint8_t kInfo = 1U << (INET_DIAG_INFO - 1);
constexpr std::uint32_t kStates = 1U << TCP_ESTABLISHED | 1U << TCP_SYN_SENT | 1U << TCP_FIN_WAIT1 |
                                  1U << TCP_FIN_WAIT2 | 1U << TCP_CLOSE_WAIT | 1U << TCP_LAST_ACK |
                                  1U << TCP_LISTEN | 1U << TCP_CLOSING;
constexpr unsigned kDestroyed =
    1U << (SKNLGRP_INET_TCP_DESTROY - 1) | 1U << (SKNLGRP_INET6_TCP_DESTROY - 1);
// At most, of those that wait: the rest is taken at the next call.
constexpr std::size_t kMostEvents = 8'192;

Error refused(int code) { return from_errno(code, "list sockets", "sock_diag"); }

// Beyond the system's bound where that is allowed.
void widen(mnl_socket* socket) {
  const int fd = mnl_socket_get_fd(socket);
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof(kReceiveBytes)) != 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof(kReceiveBytes));
  }
}

// The kernel answers at once; this is for the case that it never does.
void bound_waiting(mnl_socket* socket) {
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

inet_diag_req_v2& put_request(nlmsghdr* header, std::uint16_t flags, std::uint32_t sequence) {
  header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  header->nlmsg_seq = sequence;
  auto& request =
      *static_cast<inet_diag_req_v2*>(mnl_nlmsg_put_extra_header(header, sizeof(inet_diag_req_v2)));
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_ext = kInfo;
  return request;
}

}  // namespace

Result<std::unique_ptr<Kernel>> LiveKernel::open(const sys::Root& root, const Network& network) {
  sys::Descriptor other;
  if (network.inode != 0) {
    const std::string path = fmt::format("/proc/{}/ns/net", network.pid);
    other.reset(::open(root.at(path).c_str(), O_RDONLY | O_CLOEXEC));
    if (!other) {
      return fail(from_errno(errno, "enter network namespace", path));
    }
  }
  std::unique_ptr<LiveKernel> kernel(new LiveKernel(std::move(other)));
  Result<> opened;
  if (kernel->inside_) {
    const Result<> entered =
        inside(kernel->inside_.get(), [&] { opened = kernel->open_sockets(); });
    opened = entered ? opened : entered;
  } else {
    opened = kernel->open_sockets();
  }
  return opened ? Result<std::unique_ptr<Kernel>>(std::move(kernel)) : fail(opened.error());
}

Result<> LiveKernel::open_sockets() {
  requests_.reset(mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC));
  if (!requests_ || mnl_socket_bind(requests_.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
    return fail(refused(errno));
  }
  widen(requests_.get());
  bound_waiting(requests_.get());
  events_.reset(mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!events_ || mnl_socket_bind(events_.get(), kDestroyed, MNL_SOCKET_AUTOPID) < 0) {
    no_events_ = from_errno(errno, "listen for closed sockets", "sock_diag");
    events_.reset();
  } else {
    widen(events_.get());
  }
  return {};
}

Result<> LiveKernel::dump(const Take& take) {
  if (const Result<> done = dump(AF_INET, take); !done) {
    return done;
  }
  const Result<> done = dump(AF_INET6, take);
  // A kernel without IPv6.
  return !done && done.error().code == ENOENT ? Result<>() : done;
}

Result<> LiveKernel::dump(std::uint8_t family, const Take& take) {
  nlmsghdr* header = mnl_nlmsg_put_header(buffer_.data());
  inet_diag_req_v2& request = put_request(header, NLM_F_DUMP, ++sequence_);
  request.sdiag_family = family;
  request.idiag_states = kStates;
  if (mnl_socket_sendto(requests_.get(), header, header->nlmsg_len) < 0) {
    return fail(refused(errno));
  }
  Result<bool> more = true;
  while (more && *more) {
    more = take_part(take);
  }
  return more ? Result<>() : fail(more.error());
}

Result<bool> LiveKernel::take_part(const Take& take) {
  const ssize_t count = mnl_socket_recvfrom(requests_.get(), buffer_.data(), buffer_.size());
  if (count < 0) {
    return errno == EINTR ? Result<bool>(true) : fail(refused(errno));
  }
  bool is_done = false;
  int error = 0;
  visit_answers(std::span(buffer_).first(static_cast<std::size_t>(count)),
                [&](const Answer& answer) {
                  if (answer.sequence != sequence_) {
                    return;
                  }
                  is_done = is_done || answer.is_done || answer.error != 0;
                  error = answer.error != 0 ? answer.error : error;
                  if (answer.reading) {
                    take(*answer.reading);
                  }
                });
  return error == 0 ? Result<bool>(!is_done) : fail(refused(error));
}

Result<> LiveKernel::look(std::span<const Name> wanted, const TakeOne& take) {
  for (std::size_t first = 0; first < wanted.size(); first += kBatch) {
    const std::span<const Name> batch =
        wanted.subspan(first, std::min(kBatch, wanted.size() - first));
    if (const Result<> sent = send_names(batch); !sent) {
      return sent;
    }
    take_answers(batch.size(), first, take);
    sequence_ += static_cast<std::uint32_t>(kBatch);
  }
  return {};
}

Result<> LiveKernel::send_names(std::span<const Name> wanted) {
  std::byte* end = buffer_.data();
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    nlmsghdr* header = mnl_nlmsg_put_header(end);
    inet_diag_req_v2& request =
        put_request(header, 0, sequence_ + 1 + static_cast<std::uint32_t>(at));
    request.sdiag_family = wanted[at].family;
    request.idiag_states = ~0U;
    request.id = wanted[at].id;
    end += MNL_ALIGN(header->nlmsg_len);
  }
  const auto length = static_cast<std::size_t>(end - buffer_.data());
  return mnl_socket_sendto(requests_.get(), buffer_.data(), length) < 0 ? fail(refused(errno))
                                                                        : Result<>();
}

// All answers are there when the request has been sent; those that found no room never come.
void LiveKernel::take_answers(std::size_t wanted, std::size_t first, const TakeOne& take) {
  std::size_t taken = 0;
  while (taken < wanted) {
    const std::size_t received = receive(requests_.get());
    if (received == 0 && errno != ENOBUFS) {
      return;
    }
    for (std::size_t at = 0; at < received; ++at) {
      visit_answers(std::span(answers_[at]).first(lengths_[at]), [&](const Answer& answer) {
        const std::uint32_t index = answer.sequence - sequence_ - 1;
        if (index >= wanted) {
          return;
        }
        ++taken;
        if (answer.reading || answer.error == ENOENT || answer.error == ESTALE) {
          take(first + index, answer.reading ? &*answer.reading : nullptr);
        }
      });
    }
  }
}

std::size_t LiveKernel::receive(mnl_socket* socket) {
  std::array<iovec, kBatch> places{};
  std::array<mmsghdr, kBatch> messages{};
  for (std::size_t at = 0; at < kBatch; ++at) {
    places[at] = {.iov_base = answers_[at].data(), .iov_len = kAnswerBytes};
    messages[at].msg_hdr.msg_iov = &places[at];
    messages[at].msg_hdr.msg_iovlen = 1;
  }
  errno = 0;
  const int received =
      recvmmsg(mnl_socket_get_fd(socket), messages.data(), kBatch, MSG_DONTWAIT, nullptr);
  for (int at = 0; at < received; ++at) {
    lengths_[static_cast<std::size_t>(at)] = messages[static_cast<std::size_t>(at)].msg_len;
  }
  return received < 0 ? 0 : static_cast<std::size_t>(received);
}

Result<> LiveKernel::destroyed(const Take& take) {
  if (!events_) {
    return fail(*no_events_);
  }
  int lost = 0;
  for (std::size_t taken = 0; taken < kMostEvents;) {
    const std::size_t received = receive(events_.get());
    if (received == 0 && errno != ENOBUFS) {
      break;
    }
    lost = received == 0 ? errno : lost;
    taken += received;
    for (std::size_t at = 0; at < received; ++at) {
      visit_answers(std::span(answers_[at]).first(lengths_[at]), [&](const Answer& answer) {
        if (answer.reading) {
          take(*answer.reading);
        }
      });
    }
  }
  return lost == 0 ? Result<>() : fail(from_errno(lost, "listen for closed sockets", "sock_diag"));
}

Result<Interfaces> LiveKernel::interfaces() {
  if (!inside_) {
    return read_interfaces();
  }
  Result<Interfaces> found;
  const Result<> entered = inside(inside_.get(), [&] { found = read_interfaces(); });
  return entered ? found : fail(entered.error());
}

}  // namespace chokepoint::capture::socket
