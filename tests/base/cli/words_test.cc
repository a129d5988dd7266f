// Words of strangers: bytes that are no text, and text that could be taken for orders.
#include <gmock/gmock.h>

#include <sstream>

#include "base/cli/markdown.h"
#include "base/cli/table.h"
#include "base/cli/utf8.h"

namespace chokepoint::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Utf8, WhatIsTextStaysAsItIs) {
  for (const char* text : {"", "plain", "Zürich", "東京", "🚀", "a\nb"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(Utf8, EachByteOfNoLetterIsReplaced) {
  EXPECT_EQ(valid_utf8("a\xff\xfe"
                       "b"),
            "a\uFFFD\uFFFDb");
  EXPECT_EQ(valid_utf8("\xc3("), "\uFFFD(");                              // cut short
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "\uFFFD\uFFFD");                      // longer than it need be
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");            // half of a pair
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // past the last
  EXPECT_EQ(valid_utf8("\xe6\x9d"), "\uFFFD\uFFFD");
}

TEST(Utf8, NothingPrintableMovesACursor) {
  EXPECT_EQ(printable("a\x1b[31mb\r\nc\td\x7f"), "a·[31mb··c·d·");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m é"),
            "·31m é");
}

TEST(Markdown, TextIsNeverMarkup) {
  EXPECT_EQ(markdown_text("a|b"), "a\\|b");
  EXPECT_EQ(markdown_text("<script>"), "\\<script\\>");
  EXPECT_EQ(markdown_text("[x](y) *z* `c`"), "\\[x\\](y) \\*z\\* \\`c\\`");
  EXPECT_EQ(markdown_text("two\nlines"), "two·lines");
}

TEST(Markdown, CodeCannotBeEndedFromInside) {
  EXPECT_EQ(markdown_code("a b"), "`a b`");
  EXPECT_EQ(markdown_code("a `b` c"), "``a `b` c``");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
}

TEST(Markdown, ATableHasItsColumnsOnEveryLine) {
  EXPECT_EQ(markdown_table({{"what"}, {"value", Align::Right}}, {{"a|b", "1"}, {"c\nd", "2"}}),
            "| what | value |\n| --- | --: |\n| a\\|b | 1 |\n| c·d | 2 |\n");
}

TEST(Table, CellsCannotMoveTheCursor) {
  Table table({{"name"}, {"more"}});
  table.add({"a\x1b[2J", "b\nc"});
  std::ostringstream out;
  table.print(out, {});
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(out.str(), HasSubstr("b·c"));
}

}  // namespace
}  // namespace chokepoint::cli
