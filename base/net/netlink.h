// Netlink: a socket to the running kernel, requests, and walks over what the kernel sent. Reading
// takes any bytes: a message or an attribute whose length is impossible ends the walk, and what is
// given lies inside the bytes. Nothing is allocated per message.
//
//   datagram:   header payload │ header payload │ …    for_each_message()
//   payload:    body attribute attribute …             value_at_front(), behind()
//   attribute:  length type payload                    for_each_attribute()
//
// A socket is used by one thread at a time; the functions have no state.
#pragma once

#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::net {

// memcpy, because netlink's parts need not be aligned for a T. Nothing where it is cut short.
template <class T>
std::optional<T> value_at_front(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(T)) {
    return std::nullopt;
  }
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// Messages, bodies and attributes are aligned alike.
static_assert(unsigned{NLA_ALIGNTO} == NLMSG_ALIGNTO);
constexpr std::size_t netlink_aligned(std::size_t length) {
  return (length + NLMSG_ALIGNTO - 1) / NLMSG_ALIGNTO * NLMSG_ALIGNTO;
}

// What follows a part of this length; nothing where the bytes end before.
inline std::span<const std::byte> behind(std::span<const std::byte> bytes, std::size_t length) {
  return bytes.subspan(std::min(netlink_aligned(length), bytes.size()));
}

// visit(const nlmsghdr& header, std::span<const std::byte> payload)
template <class Visit>
void for_each_message(std::span<const std::byte> datagram, Visit&& visit) {
  while (const auto header = value_at_front<nlmsghdr>(datagram)) {
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > datagram.size()) {
      return;
    }
    visit(*header, datagram.subspan(sizeof(nlmsghdr), header->nlmsg_len - sizeof(nlmsghdr)));
    datagram = behind(datagram, header->nlmsg_len);
  }
}

// The type is without its flags (nested, byte order).
struct NetlinkAttribute {
  int type = 0;
  std::span<const std::byte> payload = {};
};

// Takes the first one off. Nothing at the end, or where its length is impossible.
inline std::optional<NetlinkAttribute> take_attribute(std::span<const std::byte>& attributes) {
  const auto header = value_at_front<nlattr>(attributes);
  if (!header || header->nla_len < sizeof(nlattr) || header->nla_len > attributes.size()) {
    return std::nullopt;
  }
  const std::span<const std::byte> whole = attributes.first(header->nla_len);
  attributes = behind(attributes, whole.size());
  return NetlinkAttribute{header->nla_type & NLA_TYPE_MASK, whole.subspan(sizeof(nlattr))};
}

// visit(int type, std::span<const std::byte> payload)
template <class Visit>
void for_each_attribute(std::span<const std::byte> attributes, Visit&& visit) {
  while (const auto attribute = take_attribute(attributes)) {
    visit(attribute->type, attribute->payload);
  }
}

// The payload of the first attribute of this type; empty where there is none.
std::span<const std::byte> attribute_of(std::span<const std::byte> attributes, int type);

// The errno in a message that reports an error or the end of a dump; 0 where there is none.
int error_in(const nlmsghdr& header, std::span<const std::byte> payload);

// A part of the reply to a dump, as one datagram has it.
struct DumpPart {
  bool is_done = false;
  bool is_interrupted = false;  // what is dumped changed meanwhile, so that some may be missing
  int error = 0;
};

// Messages of other requests are left out. `take` as `visit` of for_each_message().
template <class Take>
DumpPart read_dump_part(std::span<const std::byte> datagram, std::uint32_t sequence,
                        std::uint32_t port, Take&& take) {
  DumpPart part;
  for_each_message(datagram, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
    if (header.nlmsg_seq != sequence || header.nlmsg_pid != port || part.is_done) {
      return;
    }
    part.is_interrupted = part.is_interrupted || (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) {
      part.is_done = true;
      part.error = error_in(header, payload);
    } else if (header.nlmsg_type >= NLMSG_MIN_TYPE) {
      take(header, payload);
    }
  });
  return part;
}

// Requests in a buffer that the caller owns, one behind the other.
class NetlinkRequests {
 public:
  explicit NetlinkRequests(std::span<std::byte> buffer) : buffer_(buffer) {}

  template <class Body>
  void begin(std::uint16_t type, unsigned flags, std::uint32_t sequence, const Body& body) {
    begin(type, flags, sequence, std::as_bytes(std::span(&body, 1)));
  }
  // Of the request that was begun last.
  void add_attribute(std::uint16_t type, std::span<const std::byte> payload);

  // Empty once something did not fit: send() refuses that.
  std::span<const std::byte> bytes() const;

 private:
  void begin(std::uint16_t type, unsigned flags, std::uint32_t sequence,
             std::span<const std::byte> body);
  void append(std::span<const std::byte> part);

  std::span<std::byte> buffer_;
  std::size_t start_ = 0;  // of the request that was begun last
  std::size_t size_ = 0;
  bool fits_ = true;
};

struct NetlinkOptions {
  int protocol = NETLINK_ROUTE;
  unsigned groups = 0;  // of events, one bit each
  int flags = 0;        // SOCK_NONBLOCK
};

// Whether the kernel itself sent it; others may send to a netlink socket, too.
bool is_from_kernel(const msghdr& received);

// A default one is closed.
class NetlinkSocket {
 public:
  // The words are of all its errors.
  static Result<NetlinkSocket> open(const NetlinkOptions& options, std::string_view operation,
                                    std::string_view subject);
  NetlinkSocket() = default;

  int fd() const { return fd_.get(); }
  std::uint32_t port() const { return port_; }

  Result<> send(std::span<const std::byte> requests) const;
  // The size of one datagram of the kernel. An error: it did not fit (EMSGSIZE), or none came
  // within a second (EAGAIN).
  Result<std::size_t> receive(std::span<std::byte> buffer) const;
  // The whole reply to a dump that was sent. `take` as `visit` of for_each_message(). false: what
  // is dumped changed meanwhile, so that some may be missing.
  template <class Take>
  Result<bool> receive_dump(std::uint32_t sequence, std::span<std::byte> buffer,
                            Take&& take) const {
    bool is_whole = true;
    while (true) {
      TRY(const std::size_t size, receive(buffer));
      const DumpPart part = read_dump_part(buffer.first(size), sequence, port_, take);
      if (part.error != 0) {
        return fail(error(part.error));
      }
      is_whole = is_whole && !part.is_interrupted;
      if (part.is_done) {
        return is_whole;
      }
    }
  }

 private:
  NetlinkSocket(int fd, std::string_view operation, std::string_view subject)
      : fd_(fd), operation_(operation), subject_(subject) {}

  Error error(int code) const { return from_errno(code, operation_, subject_); }

  sys::Descriptor fd_;
  std::uint32_t port_ = 0;
  std::string operation_;
  std::string subject_;
};

}  // namespace chokepoint::net
