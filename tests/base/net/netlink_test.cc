#include "base/net/netlink.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "base/net/rtnetlink.h"

namespace chokepoint::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Part = std::span<const std::byte>;
using Parts = std::vector<std::byte>;
using Attributes = std::vector<std::pair<int, std::string>>;

template <class T>
Part as_part(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

Part as_part(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(Part payload) {
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

Attributes attributes_in(Part bytes) {
  Attributes found;
  for_each_attribute(bytes,
                     [&](int type, Part payload) { found.emplace_back(type, text_of(payload)); });
  return found;
}

std::vector<std::uint16_t> types_in(Part datagram) {
  std::vector<std::uint16_t> types;
  for_each_message(datagram,
                   [&](const nlmsghdr& header, Part) { types.push_back(header.nlmsg_type); });
  return types;
}

// Of a message with a body of four bytes.
Part attributes_of(const NetlinkRequests& message) {
  return behind(message.bytes(), sizeof(nlmsghdr) + sizeof(std::uint32_t));
}

// A message of 40 bytes: a body of four bytes and two attributes; and one of 20 bytes.
Parts two_messages() {
  Parts buffer(256);
  NetlinkRequests requests(buffer);
  requests.begin(20, NLM_F_DUMP, 7, std::uint32_t{5});
  requests.add_attribute(1, as_part(std::string("abcde")));
  requests.add_attribute(2 | NLA_F_NET_BYTEORDER, as_part(std::string("xy")));
  requests.begin(21, 0, 8, std::uint32_t{});
  const Part bytes = requests.bytes();
  return {bytes.begin(), bytes.end()};
}

TEST(NetlinkRequests, AreHeadersBodiesAndAttributesAligned) {
  const Parts bytes = two_messages();
  ASSERT_EQ(bytes.size(), 60U);
  std::vector<nlmsghdr> headers;
  for_each_message(bytes, [&](const nlmsghdr& header, Part payload) {
    EXPECT_EQ(payload.size(), header.nlmsg_len - sizeof(nlmsghdr));
    headers.push_back(header);
  });
  ASSERT_THAT(headers, SizeIs(2));
  EXPECT_EQ(headers[0].nlmsg_len, 40U);
  EXPECT_EQ(headers[0].nlmsg_type, 20);
  EXPECT_EQ(headers[0].nlmsg_flags, NLM_F_REQUEST | NLM_F_DUMP);
  EXPECT_EQ(headers[0].nlmsg_seq, 7U);
  EXPECT_EQ(headers[1].nlmsg_len, 20U);
  EXPECT_EQ(headers[1].nlmsg_seq, 8U);
  const Part payload = Part(bytes).subspan(16, 24);
  EXPECT_EQ(value_at_front<std::uint32_t>(payload), 5U);
  EXPECT_THAT(attributes_in(behind(payload, 4)),
              ElementsAre(testing::Pair(1, "abcde"), testing::Pair(2, "xy")));
}

TEST(NetlinkRequests, WhatDoesNotFitIsNotSent) {
  const std::size_t whole = two_messages().size();
  for (std::size_t size = 0; size <= 2 * whole; ++size) {
    Parts buffer(size);
    NetlinkRequests requests(buffer);
    requests.begin(20, 0, 7, std::uint32_t{5});
    requests.add_attribute(1, as_part(std::string("abcde")));
    EXPECT_EQ(requests.bytes().size(), size < 32 ? 0U : 32U) << size;
  }
  Parts large(100'000);
  NetlinkRequests requests(large);
  requests.begin(20, 0, 7, std::uint32_t{5});
  requests.add_attribute(1, Parts(65'532));
  EXPECT_THAT(requests.bytes(), IsEmpty()) << "its length has 16 bits";
}

TEST(NetlinkWalk, ACutMessageEndsIt) {
  const Parts whole = two_messages();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Parts cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const std::size_t expected = size < 40 ? 0 : size < 60 ? 1 : 2;
    EXPECT_THAT(types_in(cut), SizeIs(expected)) << size;
  }
}

TEST(NetlinkWalk, ACutAttributeEndsIt) {
  const Parts messages = two_messages();
  const Parts whole(messages.begin() + 20, messages.begin() + 40);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Parts cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    // Padding may be missing at the end.
    const std::size_t expected = size < 9 ? 0 : size < 18 ? 1 : 2;
    EXPECT_THAT(attributes_in(cut), SizeIs(expected)) << size;
  }
}

TEST(NetlinkWalk, AnImpossibleLengthEndsIt) {
  for (const std::uint32_t length : {0U, 1U, 15U, 61U, 1'000'000U, 0xffff'fffdU, ~0U}) {
    Parts bytes = two_messages();
    std::memcpy(bytes.data(), &length, sizeof(length));
    EXPECT_THAT(types_in(bytes), IsEmpty()) << length;
    std::memcpy(bytes.data() + 40, &length, sizeof(length));
    const std::uint32_t first = 40;
    std::memcpy(bytes.data(), &first, sizeof(first));
    EXPECT_THAT(types_in(bytes), ElementsAre(20)) << length;
  }
  for (const std::uint16_t length : std::array<std::uint16_t, 5>{0, 1, 3, 21, 65'535}) {
    const Parts messages = two_messages();
    Parts bytes(messages.begin() + 20, messages.begin() + 40);
    std::memcpy(bytes.data(), &length, sizeof(length));
    EXPECT_THAT(attributes_in(bytes), IsEmpty()) << length;
    EXPECT_THAT(attribute_of(bytes, 2), IsEmpty()) << length;
  }
}

TEST(NetlinkWalk, NestedAttributesAreAPayload) {
  Parts inner(64);
  NetlinkRequests inside(inner);
  inside.begin(0, 0, 0, std::uint32_t{});
  inside.add_attribute(3, as_part(std::string("deep")));
  inside.add_attribute(4, {});
  Parts outer(128);
  NetlinkRequests message(outer);
  message.begin(20, 0, 1, std::uint32_t{});
  message.add_attribute(9 | NLA_F_NESTED, attributes_of(inside));
  const Part whole = attributes_of(message);
  EXPECT_THAT(attributes_in(attribute_of(whole, 9)),
              ElementsAre(testing::Pair(3, "deep"), testing::Pair(4, "")));
  EXPECT_THAT(attribute_of(whole, 3), IsEmpty());

  // The inner one is longer than the outer one.
  Parts longer(whole.begin(), whole.end());
  const std::uint16_t length = 17;
  std::memcpy(longer.data() + sizeof(nlattr), &length, sizeof(length));
  longer.resize(longer.size() + 64);
  EXPECT_THAT(attributes_in(attribute_of(longer, 9)), IsEmpty());
}

TEST(NetlinkWalk, TheFirstAttributeOfATypeIsTaken) {
  Parts buffer(64);
  NetlinkRequests message(buffer);
  message.begin(20, 0, 1, std::uint32_t{});
  message.add_attribute(1, as_part(std::string("one")));
  message.add_attribute(1, as_part(std::string("two")));
  EXPECT_EQ(text_of(attribute_of(attributes_of(message), 1)), "one");
}

// As the kernel replies to request 3 of port 99.
class DumpReply {
 public:
  DumpReply& add(std::uint16_t type, unsigned flags, int value, std::uint32_t sequence = 3,
                 std::uint32_t port = 99) {
    const nlmsghdr header{.nlmsg_len = sizeof(nlmsghdr) + sizeof(value),
                          .nlmsg_type = type,
                          .nlmsg_flags = static_cast<std::uint16_t>(flags),
                          .nlmsg_seq = sequence,
                          .nlmsg_pid = port};
    for (const Part part : {as_part(header), as_part(value)}) {
      bytes_.insert(bytes_.end(), part.begin(), part.end());
    }
    return *this;
  }
  DumpPart read() {
    return read_dump_part(bytes_, 3, 99, [&](const nlmsghdr&, Part payload) {
      taken.push_back(*value_at_front<int>(payload));
    });
  }

  std::vector<int> taken;

 private:
  Parts bytes_;
};

TEST(NetlinkDump, EndsWithDone) {
  DumpReply reply;
  const DumpPart first = reply.add(20, NLM_F_MULTI, 1).add(NLMSG_NOOP, 0, 2).read();
  EXPECT_FALSE(first.is_done);
  EXPECT_EQ(first.error, 0);
  EXPECT_THAT(reply.taken, ElementsAre(1));
  const DumpPart last = reply.add(NLMSG_DONE, NLM_F_MULTI, 0).add(20, 0, 4).read();
  EXPECT_TRUE(last.is_done);
  EXPECT_FALSE(last.is_interrupted);
  EXPECT_EQ(last.error, 0);
  EXPECT_THAT(reply.taken, ElementsAre(1, 1)) << "and nothing behind it";
}

TEST(NetlinkDump, MessagesOfOtherRequestsAreLeftOut) {
  DumpReply reply;
  reply.add(20, 0, 1, 2).add(20, 0, 2, 3, 98).add(20, 0, 3).add(NLMSG_DONE, 0, 0, 2);
  EXPECT_FALSE(reply.read().is_done);
  EXPECT_THAT(reply.taken, ElementsAre(3));
}

TEST(NetlinkDump, ErrorsAreErrnos) {
  EXPECT_EQ(DumpReply().add(NLMSG_ERROR, 0, -EPERM).read().error, EPERM);
  EXPECT_EQ(DumpReply().add(NLMSG_DONE, 0, -ENOENT).read().error, ENOENT);
  EXPECT_EQ(DumpReply().add(NLMSG_ERROR, 0, -5'000).read().error, EBADMSG);
  EXPECT_EQ(DumpReply().add(NLMSG_ERROR, 0, -2'147'483'647 - 1).read().error, EBADMSG);
  const DumpPart acknowledged = DumpReply().add(NLMSG_ERROR, 0, 0).read();
  EXPECT_TRUE(acknowledged.is_done);
  EXPECT_EQ(acknowledged.error, 0);
  nlmsghdr header{};
  header.nlmsg_type = NLMSG_ERROR;
  EXPECT_EQ(error_in(header, {}), EBADMSG);
  header.nlmsg_type = NLMSG_DONE;
  EXPECT_EQ(error_in(header, {}), 0);
}

TEST(NetlinkDump, AChangeMeanwhileIsSeenInAnyMessage) {
  EXPECT_TRUE(DumpReply().add(20, NLM_F_DUMP_INTR, 1).add(20, 0, 1).read().is_interrupted);
  EXPECT_TRUE(DumpReply().add(NLMSG_DONE, NLM_F_DUMP_INTR, 0).read().is_interrupted);
}

TEST(NetlinkSocket, LoopbackHasItsAddress) {
  const auto addresses = dump_addresses();
  ASSERT_TRUE(addresses);
  const auto of_loopback = addresses->find(static_cast<int>(if_nametoindex("lo")));
  ASSERT_NE(of_loopback, addresses->end());
  EXPECT_TRUE(std::ranges::any_of(of_loopback->second, [](const InterfaceAddress& own) {
    return own.address.text() == "127.0.0.1" && own.prefix == 8;
  }));
}

TEST(NetlinkSocket, ADatagramThatDoesNotFitIsAnError) {
  const auto socket = NetlinkSocket::open({.protocol = NETLINK_ROUTE}, "ask", "kernel");
  ASSERT_TRUE(socket);
  EXPECT_NE(socket->port(), 0U);
  Parts buffer(64);
  NetlinkRequests request(buffer);
  request.begin(RTM_GETLINK, NLM_F_DUMP, 1, ifinfomsg{});
  ASSERT_TRUE(socket->send(request.bytes()));
  const auto size = socket->receive(buffer);
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().code, EMSGSIZE);
  EXPECT_EQ(size.error().operation, "ask");
  EXPECT_EQ(size.error().subject, "kernel");
  EXPECT_FALSE(socket->send({}));
}

TEST(NetlinkSocket, TheKernelsErrorComesBack) {
  const auto socket = NetlinkSocket::open({.protocol = NETLINK_ROUTE}, "ask", "kernel");
  ASSERT_TRUE(socket);
  Parts buffer(8'192);
  NetlinkRequests request(buffer);
  ifinfomsg no_such{};
  no_such.ifi_index = 2'000'000'000;
  request.begin(RTM_GETLINK, 0, 1, no_such);
  ASSERT_TRUE(socket->send(request.bytes()));
  const auto whole = socket->receive_dump(1, buffer, [](const nlmsghdr&, Part) {});
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, ENODEV);
}

// Processes may send to each other's sockets of this protocol.
TEST(NetlinkSocket, OtherSendersAreIgnored) {
  const NetlinkOptions options{.protocol = NETLINK_USERSOCK, .flags = SOCK_NONBLOCK};
  const auto socket = NetlinkSocket::open(options, "ask", "kernel");
  const auto other = NetlinkSocket::open(options, "ask", "kernel");
  if (!socket || !other) {
    GTEST_SKIP() << "this kernel has no NETLINK_USERSOCK";
  }
  sockaddr_nl to{};
  to.nl_family = AF_NETLINK;
  to.nl_pid = socket->port();
  const Parts message = two_messages();
  ASSERT_EQ(sendto(other->fd(), message.data(), message.size(), 0,
                   reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
            static_cast<ssize_t>(message.size()));
  Parts buffer(256);
  const auto size = socket->receive(buffer);
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().code, EAGAIN) << "it was taken, and nothing else is there";
}

TEST(NetlinkSocket, AProtocolThatIsNotThereIsAnError) {
  const auto socket = NetlinkSocket::open({.protocol = 31}, "ask", "kernel");
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, EPROTONOSUPPORT);
}

}  // namespace
}  // namespace chokepoint::net
