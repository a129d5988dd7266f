#include "capture/socket/reading.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace chokepoint::capture::socket {
namespace {

constexpr std::size_t kAlignment = 4;

// Reads a T where there is enough for one; netlink's pieces need not be aligned for it.
template <class T>
std::optional<T> front(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(T)) {
    return std::nullopt;
  }
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

std::span<const std::byte> behind(std::span<const std::byte> bytes, std::size_t length) {
  const std::size_t aligned = (length + kAlignment - 1) / kAlignment * kAlignment;
  return bytes.subspan(std::min(aligned, bytes.size()));
}

packet::Address ipv4_address(std::uint32_t word) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[10] = bytes[11] = 0xff;
  std::memcpy(&bytes[12], &word, sizeof(word));
  packet::Address address;
  std::memcpy(address.words.data(), bytes.data(), bytes.size());
  return address;
}

packet::Address ipv6_address(const __be32 (&words)[4]) {  // NOLINT: the kernel's header has it so
  packet::Address address;
  std::memcpy(address.words.data(), words, sizeof(words));
  return address;
}

bool is_mapped(const packet::Address& address) {
  packet::Address host = ipv4_address(0);
  return address.words[0] == 0 && std::memcmp(&address.words[1], &host.words[1], 4) == 0;
}

// A socket of both families that speaks IPv4 says so by mapped addresses.
packet::Ends ends_of(const inet_diag_msg& message) {
  packet::Ends ends;
  const bool is_ipv4 = message.idiag_family == AF_INET;
  ends.source =
      is_ipv4 ? ipv4_address(message.id.idiag_src[0]) : ipv6_address(message.id.idiag_src);
  ends.destination =
      is_ipv4 ? ipv4_address(message.id.idiag_dst[0]) : ipv6_address(message.id.idiag_dst);
  ends.source_port = ntohs(message.id.idiag_sport);
  ends.destination_port = ntohs(message.id.idiag_dport);
  ends.protocol = IPPROTO_TCP;
  ends.is_ipv6 = !is_ipv4 && !is_mapped(ends.source);
  return ends;
}

std::span<const std::byte> attribute(std::span<const std::byte> attributes, std::uint16_t type) {
  while (const auto header = front<nlattr>(attributes)) {
    if (header->nla_len < sizeof(nlattr) || header->nla_len > attributes.size()) {
      return {};
    }
    if ((header->nla_type & NLA_TYPE_MASK) == type) {
      return attributes.subspan(sizeof(nlattr), header->nla_len - sizeof(nlattr));
    }
    attributes = behind(attributes, header->nla_len);
  }
  return {};
}

// The kernel's errors are negative, and there are not more of them than this.
int code_of(int result) {
  constexpr int kMostErrors = 4'095;
  return result < -kMostErrors ? EBADMSG : -std::min(result, 0);
}

Answer answer_of(const nlmsghdr& header, std::span<const std::byte> payload) {
  Answer answer{.sequence = header.nlmsg_seq};
  if (header.nlmsg_type == NLMSG_DONE) {
    answer.is_done = true;
    answer.error = code_of(front<int>(payload).value_or(0));
  } else if (header.nlmsg_type == NLMSG_ERROR) {
    answer.error = code_of(front<int>(payload).value_or(-EBADMSG));
  } else if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
    answer.reading = parse_reading(payload);
  }
  return answer;
}

}  // namespace

std::optional<Reading> parse_reading(std::span<const std::byte> message) {
  const auto head = front<inet_diag_msg>(message);
  if (!head || (head->idiag_family != AF_INET && head->idiag_family != AF_INET6)) {
    return std::nullopt;
  }
  return Reading{
      .name = {.family = head->idiag_family, .id = head->id},
      .cookie = std::uint64_t{head->id.idiag_cookie[1]} << 32U | head->id.idiag_cookie[0],
      .state = head->idiag_state,
      .ends = ends_of(*head),
      .interface = head->id.idiag_if,
      .inode = head->idiag_inode,
      .receive_queue_bytes = head->idiag_rqueue,
      .send_queue_bytes = head->idiag_wqueue,
      .info = attribute(behind(message, sizeof(inet_diag_msg)), INET_DIAG_INFO)};
}

void visit_answers(std::span<const std::byte> datagram,
                   const std::function<void(const Answer&)>& visit) {
  while (const auto header = front<nlmsghdr>(datagram)) {
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > datagram.size()) {
      return;
    }
    visit(answer_of(*header,
                    datagram.subspan(sizeof(nlmsghdr), header->nlmsg_len - sizeof(nlmsghdr))));
    datagram = behind(datagram, header->nlmsg_len);
  }
}

}  // namespace chokepoint::capture::socket
