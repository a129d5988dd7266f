#include "base/sys/message_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

namespace chokepoint::sys {
namespace {

using std::chrono::milliseconds;

class MessageSocketTest : public testing::Test {
 protected:
  bool send(std::string_view bytes, int passed = -1) const {
    return sockets_.own.send(3, bytes, milliseconds(10),
                             {.number = -1, .t_ns = 5, .passed = passed});
  }
  std::optional<ReceivedMessage> receive() { return sockets_.other.receive(); }
  bool is_gone() const { return sockets_.other.is_gone(); }

  MessageSockets sockets_ = *MessageSocket::open_pair("test");
};

TEST_F(MessageSocketTest, AMessageArrivesWhole) {
  ASSERT_TRUE(send("one"));
  ASSERT_TRUE(send(""));
  const auto first = receive();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes, "one");
  EXPECT_EQ(first->head.kind, 3);
  EXPECT_EQ(first->head.number, -1);
  EXPECT_EQ(first->head.t_ns, 5);
  EXPECT_EQ(receive()->bytes, "");
  EXPECT_FALSE(receive());
  EXPECT_FALSE(is_gone());
}

TEST_F(MessageSocketTest, WhatIsTooLongIsCut) {
  ASSERT_TRUE(send(std::string(kMaxMessageBytes + 1, 'x')));
  EXPECT_EQ(receive()->bytes.size(), kMaxMessageBytes);
}

TEST_F(MessageSocketTest, ADescriptorComesAlong) {
  ASSERT_TRUE(send("file", sockets_.own.descriptor()));
  const auto received = receive();
  ASSERT_TRUE(received && received->passed);
  EXPECT_EQ(fcntl(received->passed.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(MessageSocketTest, TheOtherSideIsNoticedToBeGone) {
  sockets_.own.close();
  EXPECT_FALSE(receive());
  EXPECT_TRUE(is_gone());
}

TEST_F(MessageSocketTest, NobodyWaitsForAReaderThatDoesNotRead) {
  int sent = 0;
  while (send("x") && sent < 1'000'000) {
    ++sent;
  }
  EXPECT_GT(sent, 0);
  EXPECT_LT(sent, 1'000'000);
}

// Shorter than its head: no process of ours says that.
TEST_F(MessageSocketTest, HalfAHeadIsNoMessage) {
  ASSERT_EQ(::send(sockets_.own.descriptor(), "abc", 3, 0), 3);
  EXPECT_FALSE(receive());
  EXPECT_FALSE(is_gone());
}

TEST(PackedError, IsUnpackedAsItWas) {
  const Error error{ErrorKind::Permission, "listen", "eth0", 13, "no", "run as root"};
  const Error same = unpacked_error(packed_error(error));
  EXPECT_EQ(same.kind, error.kind);
  EXPECT_EQ(same.code, 13);
  EXPECT_EQ(describe(same), describe(error));
}

TEST(PackedError, OfNonsenseIsMalformed) {
  for (const std::string_view bytes : {"", "2", "x\0y", "-1\0000\0a\0b\0c\0d"}) {
    EXPECT_EQ(unpacked_error(bytes).kind, ErrorKind::Malformed);
  }
}

}  // namespace
}  // namespace chokepoint::sys
