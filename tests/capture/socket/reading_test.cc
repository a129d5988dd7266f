#include "capture/socket/reading.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/net/tcp_info.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture::socket {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& bytes, const T& value) {
  const auto raw = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

inet_diag_msg established() {
  inet_diag_msg message{};
  message.idiag_family = AF_INET;
  message.idiag_state = 1;
  message.id.idiag_sport = htons(40'000);
  message.id.idiag_dport = htons(29'500);
  inet_pton(AF_INET, "10.0.0.1", &message.id.idiag_src[0]);
  inet_pton(AF_INET, "10.0.0.2", &message.id.idiag_dst[0]);
  message.id.idiag_cookie[0] = 7;
  message.id.idiag_cookie[1] = 1;
  message.idiag_inode = 4'711;
  message.idiag_rqueue = 10;
  message.idiag_wqueue = 20;
  return message;
}

void put_attribute(Bytes& bytes, std::uint16_t type, const Bytes& payload) {
  put(bytes, nlattr{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + payload.size()),
                    .nla_type = type});
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize((bytes.size() + 3) / 4 * 4);
}

Bytes message_of(const inet_diag_msg& head, std::uint64_t acked = 0) {
  Bytes bytes;
  put(bytes, head);
  put_attribute(bytes, INET_DIAG_SHUTDOWN, Bytes(1));
  tcp_info info{};
  info.tcpi_bytes_acked = acked;
  Bytes raw;
  put(raw, info);
  put_attribute(bytes, INET_DIAG_INFO, raw);
  return bytes;
}

Bytes datagram_of(std::uint16_t type, std::uint32_t sequence, const Bytes& payload) {
  Bytes bytes;
  put(bytes, nlmsghdr{.nlmsg_len = static_cast<std::uint32_t>(sizeof(nlmsghdr) + payload.size()),
                      .nlmsg_type = type,
                      .nlmsg_flags = 0,
                      .nlmsg_seq = sequence,
                      .nlmsg_pid = 0});
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

TEST(Reading, HasWhatTheKernelSays) {
  const Bytes bytes = message_of(established(), 12'345);
  const auto reading = parse_reading(bytes);
  ASSERT_TRUE(reading);
  EXPECT_EQ(packet::text_of(reading->ends.source, false), "10.0.0.1");
  EXPECT_EQ(packet::text_of(reading->ends.destination, false), "10.0.0.2");
  EXPECT_EQ(reading->ends.source_port, 40'000);
  EXPECT_EQ(reading->ends.destination_port, 29'500);
  EXPECT_FALSE(reading->ends.is_ipv6);
  EXPECT_EQ(reading->cookie, (std::uint64_t{1} << 32) + 7);
  EXPECT_EQ(reading->inode, 4'711U);
  EXPECT_EQ(reading->receive_queue_bytes, 10U);
  EXPECT_EQ(reading->send_queue_bytes, 20U);
  EXPECT_EQ(net::decode_tcp_info(reading->info).bytes_acknowledged, 12'345U);
}

TEST(Reading, Ipv6IsIpv6ButForMappedAddresses) {
  inet_diag_msg head = established();
  head.idiag_family = AF_INET6;
  inet_pton(AF_INET6, "fd00::1", head.id.idiag_src);
  inet_pton(AF_INET6, "fd00::2", head.id.idiag_dst);
  auto reading = parse_reading(message_of(head));
  EXPECT_TRUE(reading->ends.is_ipv6);
  EXPECT_EQ(packet::text_of(reading->ends.destination, true), "fd00::2");
  inet_pton(AF_INET6, "::ffff:10.0.0.1", head.id.idiag_src);
  reading = parse_reading(message_of(head));
  EXPECT_FALSE(reading->ends.is_ipv6);
  EXPECT_EQ(reading->ends.source, parse_reading(message_of(established()))->ends.source);
  EXPECT_EQ(reading->name.family, AF_INET6) << "as the kernel wants it named";
}

TEST(Reading, ShortOnesSayLess) {
  const Bytes whole = message_of(established(), 12'345);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const auto reading = parse_reading(cut);
    EXPECT_EQ(reading.has_value(), length >= sizeof(inet_diag_msg)) << length;
    EXPECT_TRUE(!reading || reading->info.empty()) << length;
  }
}

TEST(Reading, OtherFamiliesAreNone) {
  inet_diag_msg head = established();
  head.idiag_family = AF_UNIX;
  EXPECT_FALSE(parse_reading(message_of(head)));
}

TEST(Replies, AreTakenOneByOne) {
  Bytes bytes = datagram_of(SOCK_DIAG_BY_FAMILY, 5, message_of(established()));
  Bytes error;
  put(error, -ENOENT);
  for (const Bytes& more : {datagram_of(NLMSG_ERROR, 6, error), datagram_of(NLMSG_DONE, 7, {})}) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  std::vector<Reply> replies;
  for_each_reply(bytes, [&](const Reply& reply) { replies.push_back(reply); });
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[0].sequence, 5U);
  EXPECT_TRUE(replies[0].reading);
  EXPECT_EQ(replies[1].error, ENOENT);
  EXPECT_FALSE(replies[1].reading);
  EXPECT_TRUE(replies[2].is_done);
}

TEST(Replies, OddLengthsEndTheDatagram) {
  for (const std::uint32_t length : {0U, 1U, 15U, 1'000'000U, ~0U}) {
    Bytes bytes = datagram_of(SOCK_DIAG_BY_FAMILY, 5, message_of(established()));
    std::memcpy(bytes.data(), &length, sizeof(length));
    int replies = 0;
    for_each_reply(bytes, [&](const Reply&) { ++replies; });
    EXPECT_EQ(replies, 0) << length;
  }
}

TEST(Replies, AnAttributeThatIsTooLongIsNone) {
  Bytes bytes = message_of(established());
  const std::uint16_t length = 0xffff;
  std::memcpy(&bytes[sizeof(inet_diag_msg)], &length, sizeof(length));
  EXPECT_TRUE(parse_reading(bytes)->info.empty());
}

}  // namespace
}  // namespace chokepoint::capture::socket
