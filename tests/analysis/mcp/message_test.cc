#include "analysis/mcp/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::analysis::mcp {
namespace {

using testing::HasSubstr;

std::vector<Line> lines_of(LineReader& reader, std::string_view bytes) {
  reader.add(bytes);
  std::vector<Line> lines;
  while (auto line = reader.next()) {
    lines.push_back(*std::move(line));
  }
  return lines;
}

TEST(LineReader, PartsLinesWhereverTheBytesArePartedThemselves) {
  const std::string bytes = "one\n\ntwo\r\nthree";
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    LineReader reader;
    std::vector<Line> lines;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      for (Line& line : lines_of(reader, std::string_view(bytes).substr(at, size))) {
        lines.push_back(std::move(line));
      }
    }
    EXPECT_EQ(lines, (std::vector<Line>{{"one"}, {""}, {"two\r"}})) << size;
    EXPECT_EQ(reader.rest(), Line{"three"});
    EXPECT_EQ(reader.rest(), std::nullopt);
  }
}

TEST(LineReader, HoldsNoLineThatIsTooLongAndReadsTheNext) {
  LineReader reader(4);
  EXPECT_EQ(lines_of(reader, "1234\n12345\n12"),
            (std::vector<Line>{{"1234"}, {.is_too_long = true}}));
  EXPECT_EQ(lines_of(reader, "345"), std::vector<Line>{});
  EXPECT_EQ(lines_of(reader, "\n1\n"), (std::vector<Line>{{.is_too_long = true}, {"1"}}));
}

Refusal refusal_of(const std::string& text) {
  const auto read = read_message({text});
  return read ? Refusal{.text = "none"} : read.error();
}

bool gets_no_answer(const std::string& text) {
  const auto read = read_message({text});
  return read && !*read;
}

TEST(ReadMessage, ARequestHasWhatWasSent) {
  const auto read = read_message({R"({"jsonrpc":"2.0","id":"a","method":"m","params":{"x":[1]}})"
                                  "\r"});
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->id, "a");
  EXPECT_EQ((*read)->method, "m");
  EXPECT_EQ((*read)->parameters.dump(), R"({"x":[1]})");
}

TEST(ReadMessage, WithoutParametersTheyAreNone) {
  const auto read = read_message({R"({"jsonrpc":"2.0","id":-7,"method":"m"})"});
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->id, -7);
  EXPECT_EQ((*read)->parameters, Untrusted::object());
}

TEST(ReadMessage, NotificationsAnswersAndBlankLinesGetNoAnswer) {
  EXPECT_TRUE(gets_no_answer(R"({"jsonrpc":"2.0","method":"m"})"));
  EXPECT_TRUE(gets_no_answer(R"({"jsonrpc":"2.0","method":"m","params":7})"));
  EXPECT_TRUE(gets_no_answer(R"({"jsonrpc":"2.0","id":1,"result":{}})"));
  EXPECT_TRUE(gets_no_answer(R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}})"));
  EXPECT_TRUE(gets_no_answer(""));
  EXPECT_TRUE(gets_no_answer(" \t\r"));
}

TEST(ReadMessage, WhatIsNoJsonIsRefusedWithoutAnId) {
  for (const std::string text :
       {"{", "nonsense",
        R"({"jsonrpc":"2.0","id":1,"method":"a)"
        "\xff"
        R"("})",
        R"({"jsonrpc":"2.0","id":1,"method":"\ud800"})", R"({"jsonrpc":"2.0","id":1} {})"}) {
    const Refusal refusal = refusal_of(text);
    EXPECT_EQ(refusal.code, Code::NoJson) << text;
    EXPECT_TRUE(refusal.id.is_null()) << text;
  }
}

TEST(ReadMessage, WhatIsNoRequestIsRefused) {
  for (const std::string text :
       {"7", "null", "[]", R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", "{}",
        R"({"jsonrpc":"2.0","id":null,"method":"m"})", R"({"jsonrpc":"2.0","id":1.5,"method":"m"})",
        R"({"jsonrpc":"2.0","id":[1],"method":"m"})"}) {
    const Refusal refusal = refusal_of(text);
    EXPECT_EQ(refusal.code, Code::NoRequest) << text;
    EXPECT_TRUE(refusal.id.is_null()) << text;
  }
  EXPECT_THAT(refusal_of("[]").text, HasSubstr("batches"));
}

TEST(ReadMessage, AnIdThatCanBeReadIsInTheRefusal) {
  EXPECT_EQ(refusal_of(R"({"jsonrpc":"1.0","id":3,"method":"m"})").id, 3);
  EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":3,"method":7})").id, 3);
  const Refusal refusal = refusal_of(R"({"jsonrpc":"2.0","id":3,"method":"m","params":[1]})");
  EXPECT_EQ(refusal.id, 3);
  EXPECT_EQ(refusal.code, Code::WrongParameters);
}

std::string nested(int levels) {
  return R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"x":)" +
         std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']') + "}}";
}

TEST(ReadMessage, NestingIsBounded) {
  EXPECT_TRUE(read_message({nested(json::kMaxDepth - 2)}));
  EXPECT_THAT(refusal_of(nested(json::kMaxDepth - 1)).text, HasSubstr("nested"));
  EXPECT_THAT(refusal_of(std::string(1'000'000, '[')).text, HasSubstr("nested"));
}

TEST(ReadMessage, LengthIsBounded) {
  EXPECT_THAT(refusal_of(std::string(kMaxMessageBytes + 1, ' ')).text, HasSubstr("bytes"));
  const auto read = read_message({.is_too_long = true});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::NoRequest);
}

// Each new key is looked for among all: that must not take minutes.
TEST(ReadMessage, AnObjectOfManyKeysIsReadAtOnce) {
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":{)";
  for (int key = 0; text.size() < kMaxMessageBytes - 64; ++key) {
    text += '"' + std::to_string(key) + "\":1,";
  }
  text += "\"x\":1}}";
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(read_message({text}));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST(Written, IsOneLineOfUtf8WhateverItHolds) {
  const std::string line = written_result(1, {{"text", "a\nb \xff"}});
  EXPECT_EQ(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"a\\nb \xEF\xBF\xBD\"}}");
  EXPECT_EQ(written_refusal({.code = Code::NoMethod, .text = "t"}),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"t"}})");
}

TEST(Shown, IsShortAndFitForALine) {
  EXPECT_EQ(shown("tools/list"), "tools/list");
  EXPECT_LT(shown(std::string(1000, 'x')).size(), 100U);
  EXPECT_EQ(shown("a\x1b[2J\nb").find_first_of("\x1b\n"), std::string::npos);
}

}  // namespace
}  // namespace chokepoint::analysis::mcp
