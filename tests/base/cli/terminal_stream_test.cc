#include "base/cli/terminal_stream.h"

#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "base/cli/text.h"

namespace chokepoint::cli {
namespace {

// One of each kind that a terminal acts upon or hides: DEL, CSI, NEL, a soft hyphen, each mark of
// direction, a line and a paragraph separator, a zero-width space, a byte order mark, a tag.
constexpr const char* kHarmfulLetters[] = {
    "\x7F",   "\u009B", "\u0085", "\u00AD", "\u061C", "\u200E", "\u200F",    "\u202A", "\u202B",
    "\u202C", "\u202D", "\u202E", "\u2066", "\u2067", "\u2068", "\u2069",    "\u2028", "\u2029",
    "\u200B", "\u2060", "\u206A", "\u3164", "\uFEFF", "\uFFF9", "\U000E0041"};

std::string shown(std::initializer_list<std::string_view> pieces) {
  std::ostringstream below;
  {
    TerminalStream stream(below);
    for (const std::string_view piece : pieces) {
      stream << piece;
    }
  }
  return below.str();
}

TEST(TerminalStream, ShowsNoLetterThatATerminalActsUpon) {
  for (const std::string letter : kHarmfulLetters) {
    const std::string text = shown({"a" + letter + "b"});
    EXPECT_EQ(text.find(letter), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with("a\\u")) << text;
    EXPECT_EQ(printable("a" + letter + "b"), "a\u00B7b") << text;
  }
}

TEST(TerminalStream, KeepsAJsonDocument) {
  nlohmann::json document;
  for (const char* letter : kHarmfulLetters) {
    document.push_back(std::string("a") + letter);
  }
  EXPECT_EQ(nlohmann::json::parse(shown({document.dump()})), document);
}

TEST(TerminalStream, KeepsOrdinaryTextAndColours) {
  const std::string text = "\033[31mÄ 東京 \u200D ⚠\uFE0F 😀\033[0m\t\r\n";
  EXPECT_EQ(shown({text}), text);
}

TEST(TerminalStream, JoinsALetterThatComesInPieces) {
  EXPECT_EQ(shown({"\xF0\x9F", "\x98", "\x80!"}), "😀!");
  EXPECT_EQ(shown({"a\xC2", "\x9B"}), "a\\u009b");
  EXPECT_EQ(shown({"\x9B", "31m"}), std::string(kNoLetter) + "31m");
}

}  // namespace
}  // namespace chokepoint::cli
