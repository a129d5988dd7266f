#include "probe/iperf3/protocol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace chokepoint::probe::iperf3 {
namespace {

template <class... Values>
std::array<std::byte, sizeof...(Values)> raw(Values... values) {
  return {std::byte(values)...};
}

TEST(Iperf3Protocol, KnowsEveryStateByItsByte) {
  EXPECT_EQ(state_of(std::byte{9}), State::ParamExchange);
  EXPECT_EQ(state_of(std::byte{0xff}), State::AccessDenied);
  EXPECT_EQ(state_of(std::byte{0xfe}), State::ServerError);
  EXPECT_EQ(state_of(std::byte{'H'}), std::nullopt);
  EXPECT_EQ(name_of(State::ExchangeResults), "EXCHANGE_RESULTS");
}

TEST(Iperf3Protocol, CookieHasIperf3sAlphabetAndItsNul) {
  std::array<std::uint8_t, kCookieBytes - 1> random{};
  for (std::size_t i = 0; i < random.size(); ++i) {
    random[i] = static_cast<std::uint8_t>(i * 7);
  }
  const Cookie cookie = make_cookie(random);
  EXPECT_TRUE(std::ranges::all_of(cookie.begin(), cookie.end() - 1, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
  }));
  EXPECT_EQ(cookie.back(), '\0');
  EXPECT_TRUE(is_cookie(std::as_bytes(std::span(cookie))));
}

TEST(Iperf3Protocol, WhatIsNoCookieIsTold) {
  std::array<std::byte, kCookieBytes> text{};
  std::ranges::fill(text, std::byte{'a'});
  EXPECT_FALSE(is_cookie(text)) << "no NUL at its end";
  text.back() = std::byte{0};
  EXPECT_TRUE(is_cookie(text));
  text[3] = std::byte{'\r'};
  EXPECT_FALSE(is_cookie(text));
  EXPECT_FALSE(is_cookie(std::span(text).first(36)));
}

TEST(Iperf3Protocol, LengthsAreBoundedAndBigEndian) {
  EXPECT_EQ(decode_length(raw(0, 0, 0, 143), kMaxParameterBytes), 143U);
  EXPECT_EQ(encode_length(451), raw(0, 0, 1, 0xc3));
  EXPECT_FALSE(decode_length(raw(0, 0, 0x20, 1), kMaxParameterBytes));
  EXPECT_FALSE(decode_length(raw(0xff, 0xff, 0xff, 0xff), kMaxResultBytes));
  EXPECT_FALSE(decode_length(raw(0, 0, 0, 0), kMaxParameterBytes));
}

TEST(Iperf3Protocol, StreamIdsSkipTwo) {
  EXPECT_EQ(stream_id(0), 1);
  EXPECT_EQ(stream_id(1), 3);
  EXPECT_EQ(stream_id(2), 4);
  EXPECT_EQ(stream_id(3), 5);
}

TEST(Iperf3Protocol, ServerErrorsAreToldInWords) {
  const ServerError error{.code = 134, .system_code = 2};
  EXPECT_EQ(encode(error), raw(0, 0, 0, 134, 0, 0, 0, 2));
  EXPECT_EQ(decode_server_error(encode(error)).code, 134);
  EXPECT_NE(describe(error).find("congestion control"), std::string::npos);
  EXPECT_NE(describe(ServerError{.code = 37}).find("longer than the server allows"),
            std::string::npos);
  EXPECT_NE(describe(ServerError{.code = -77}).find("-77"), std::string::npos);
}

TEST(Iperf3Datagram, HeadsAreBigEndianInBothWidths) {
  std::array<std::byte, 16> buffer{};
  const DatagramHead head{.seconds = 0x328a, .microseconds = 0x51d1b, .sequence = 0x1'0000'0002};
  encode(head, true, buffer);
  EXPECT_EQ(decode_head(buffer, true), head);
  encode({.seconds = 0x328a, .microseconds = 0x51d1b, .sequence = 1}, false, buffer);
  EXPECT_TRUE(std::ranges::equal(std::span(buffer).first(12),
                                 raw(0, 0, 0x32, 0x8a, 0, 5, 0x1d, 0x1b, 0, 0, 0, 1)));
  EXPECT_EQ(decode_head(buffer, false)->sequence, 1U);
}

TEST(Iperf3Datagram, TooShortIsNoDatagram) {
  const std::array<std::byte, 15> buffer{};
  EXPECT_FALSE(decode_head(buffer, true));
  EXPECT_TRUE(decode_head(buffer, false));
  EXPECT_FALSE(decode_head(std::span(buffer).first(11), false));
}

TEST(Iperf3Datagram, EachGreetingHasItsAnswer) {
  EXPECT_TRUE(std::ranges::equal(greeting(), raw('9', '8', '7', '6')));
  EXPECT_TRUE(std::ranges::equal(*answer_to(greeting()), raw('6', '7', '8', '9')));
  EXPECT_TRUE(
      std::ranges::equal(*answer_to(raw(0x15, 0xcd, 0x5b, 0x07)), raw(0xb1, 0x68, 0xde, 0x3a)));
  EXPECT_FALSE(answer_to(raw('9', '8', '7')));
  EXPECT_FALSE(answer_to(raw('9', '8', '7', '6', '5')));
  EXPECT_TRUE(is_answer(raw('6', '7', '8', '9')));
  EXPECT_TRUE(is_answer(raw(0xb1, 0x68, 0xde, 0x3a)));
  EXPECT_FALSE(is_answer(raw(0, 0, 0x32, 0x8c)));
}

}  // namespace
}  // namespace chokepoint::probe::iperf3
