#include "base/control/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/json/codec.h"

namespace chokepoint::control {
namespace {

using testing::HasSubstr;

// As a socket would: `step` bytes at most at a time.
Result<std::optional<Message>> feed(FrameReader& reader, std::string_view bytes,
                                    std::size_t step = 1000) {
  Result<std::optional<Message>> message = std::nullopt;
  while (!bytes.empty()) {
    const std::span<std::byte> into = reader.wanted();
    const std::size_t count = std::min({into.size(), step, bytes.size()});
    std::memcpy(into.data(), bytes.data(), count);
    bytes.remove_prefix(count);
    message = reader.took(count);
    if (!message || *message) {
      break;
    }
  }
  return message;
}

std::string header(unsigned char type, std::uint32_t length, unsigned char framing = 1) {
  std::string text{'C', 'K', static_cast<char>(framing), static_cast<char>(type)};
  for (const int shift : {24, 16, 8, 0}) {
    text += static_cast<char>((length >> shift) & 0xffU);
  }
  return text;
}

TEST(Frame, ComesOutAsItWentIn) {
  const Message sent{Type::Request, {{"kind", "tcp"}, {"parameters", {{"streams", 4}}}}};
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    FrameReader reader(kMaxFromClient);
    const auto message = feed(reader, encode(sent), step);
    ASSERT_TRUE(message && *message) << step;
    EXPECT_EQ((*message)->type, Type::Request);
    EXPECT_EQ((*message)->body, sent.body);
  }
}

class Sealed : public testing::Test {
 protected:
  Secret key = secret_of("0123456789abcdef");
  Seal seal{key};
  FrameReader reader{kMaxFromClient};

  void SetUp() override { reader.seal(Seal(key)); }
};

TEST_F(Sealed, FramesOpenInTheirOrder) {
  for (int i = 0; i < 3; ++i) {
    const Message sent{Type::Note, {{"number", i}}};
    const std::string frame = encode(sent, seal);
    EXPECT_EQ(frame.find("number"), std::string::npos);
    const auto message = feed(reader, frame, 5);
    ASSERT_TRUE(message && *message) << i;
    EXPECT_EQ((*message)->body, sent.body);
  }
}

TEST_F(Sealed, ARepeatedFrameDoesNotOpen) {
  const std::string frame = encode({Type::Note}, seal);
  ASSERT_TRUE(feed(reader, frame, 100));
  const auto again = feed(reader, frame, 100);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::Malformed);
}

TEST_F(Sealed, AFrameThatIsLeftOutIsNoticed) {
  ASSERT_TRUE(feed(reader, encode({Type::Note}, seal), 100));
  std::ignore = encode({Type::Note}, seal);
  EXPECT_FALSE(feed(reader, encode({Type::Note}, seal), 100));
}

TEST_F(Sealed, EveryByteThatIsChangedIsNoticed) {
  const std::string frame = encode({Type::Note, {{"n", 1}}}, seal);
  for (std::size_t i = 0; i < frame.size(); ++i) {
    FrameReader other(kMaxFromClient);
    other.seal(Seal(key));
    std::string changed = frame;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const auto message = feed(other, changed, 100);
    EXPECT_TRUE(!message || !*message) << i;
  }
}

TEST_F(Sealed, WhatIsNotSealedIsTakenNoMore) {
  EXPECT_FALSE(feed(reader, encode({Type::Request}), 100));
  FrameReader later(kMaxFromClient);
  later.seal(Seal(key));
  ASSERT_TRUE(feed(later, encode({Type::Admitted}, seal), 100));
  EXPECT_FALSE(feed(later, encode({Type::Refused}), 100));
}

// Of a server that cannot seal it, because its key is another.
TEST_F(Sealed, ARefusalInPlaceOfTheFirstFrameNeedsNoSeal) {
  const auto message = feed(reader, encode({Type::Refused}), 100);
  ASSERT_TRUE(message && *message);
  EXPECT_EQ((*message)->type, Type::Refused);
}

TEST_F(Sealed, AnotherKeyIsSaidToBeOne) {
  Seal other(secret_of("fedcba9876543210"));
  const auto message = feed(reader, encode({Type::Proof}, other), 100);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().kind, ErrorKind::Permission);
}

TEST(Frame, ASealedOneBeforeThereAreKeysIsMalformed) {
  Seal seal(secret_of("0123456789abcdef"));
  FrameReader reader(kMaxFromClient);
  const auto message = feed(reader, encode({Type::Hello}, seal), 100);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().kind, ErrorKind::Malformed);
}

TEST(Frame, AsksForNoByteBeyondItsEnd) {
  FrameReader reader(kMaxBeforeHandshake);
  const std::string frame = encode({Type::Bye, Json::object()});
  std::size_t asked = 0;
  std::string_view rest = frame;
  while (!rest.empty()) {
    const std::span<std::byte> into = reader.wanted();
    asked += into.size();
    std::memcpy(into.data(), rest.data(), into.size());
    rest.remove_prefix(into.size());
    ASSERT_TRUE(reader.took(into.size()));
  }
  EXPECT_EQ(asked, frame.size()) << "what follows on the connection is data";
}

TEST(Frame, OneAfterTheOther) {
  FrameReader reader(kMaxFromClient);
  for (const Type type : {Type::Hello, Type::Proof, Type::Bye}) {
    const auto message = feed(reader, encode({type, Json::object()}), 2);
    ASSERT_TRUE(message && *message);
    EXPECT_EQ((*message)->type, type);
  }
}

TEST(Frame, WhatIsNotTheProtocolIsSaidSo) {
  FrameReader reader(kMaxBeforeHandshake);
  const auto message = feed(reader, "GET / HTTP/1.1\r\n");
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().kind, ErrorKind::Malformed);
}

TEST(Frame, AFramingFromTheFutureIsNewer) {
  FrameReader reader(kMaxBeforeHandshake);
  const auto message = feed(reader, header(1, 10, 3));
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().kind, ErrorKind::Newer);
}

TEST(Frame, ABodyOverTheLimitIsRefusedBeforeItIsRead) {
  for (const std::uint32_t length : {0U, 1U, 4097U, 65536U, 0xffffffffU}) {
    FrameReader reader(kMaxBeforeHandshake);
    const auto message = feed(reader, header(1, length));
    ASSERT_FALSE(message) << length;
    EXPECT_THAT(message.error().reason, HasSubstr("at most 4096"));
  }
}

TEST(Frame, ABodyThatIsNoObjectIsMalformed) {
  for (const std::string body : {"[]", "12", "{,}", "\xff\xff", "{} {}", R"({"a":)"}) {
    FrameReader reader(kMaxBeforeHandshake);
    const auto message = feed(reader, header(1, static_cast<std::uint32_t>(body.size())) + body);
    ASSERT_FALSE(message) << body;
    EXPECT_EQ(message.error().kind, ErrorKind::Malformed);
  }
}

TEST(Frame, ALongBodyTakesRoomOnlyAsItComes) {
  FrameReader reader(kMaxFromServer);
  ASSERT_TRUE(feed(reader, header(1, kMaxFromServer)));
  EXPECT_LT(reader.wanted().size(), std::size_t{64} * 1024);
}

TEST(Frame, ALongBodyComesWhole) {
  const std::string text(1'000'000, 'x');
  FrameReader reader(kMaxFromServer);
  const auto message = feed(reader, encode({Type::Report, {{"text", text}}}), 7777);
  ASSERT_TRUE(message && *message);
  EXPECT_EQ((*message)->body["text"], text);
}

TEST(Frame, ABodyNestedTooDeepIsMalformed) {
  const auto nested = [](int depth) {
    return R"({"a\"[":)" + std::string(static_cast<std::size_t>(depth - 1), '[') + R"("[[[[")" +
           std::string(static_cast<std::size_t>(depth - 1), ']') + "}";
  };
  for (const int depth : {json::kMaxDepth, json::kMaxDepth + 1}) {
    FrameReader reader(kMaxBeforeHandshake);
    const std::string body = nested(depth);
    const auto message = feed(reader, header(1, static_cast<std::uint32_t>(body.size())) + body);
    EXPECT_EQ(message.has_value(), depth == json::kMaxDepth);
  }
}

TEST(Frame, ATypeNobodyKnowsIsMalformed) {
  FrameReader reader(kMaxBeforeHandshake);
  EXPECT_FALSE(feed(reader, header(200, 2) + "{}"));
}

}  // namespace
}  // namespace chokepoint::control
