// Words of strangers: bytes that are no text, and text that could be taken for orders.
#include <gmock/gmock.h>

#include <sstream>

#include "base/cli/table.h"
#include "base/cli/text.h"

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

TEST(Words, ControlCharactersAreShown) {
  EXPECT_EQ(printable("a\nb\tc\x1b[31m\x7f"), "a·b·c·[31m·");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a·b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "·31m");  // CSI in one byte
  EXPECT_EQ(printable("a\xe2\x80\xa8"
                      "b\xe2\x80\xae"
                      "c\xe2\x81\xa6"),
            "a·b·c·");
}

TEST(Words, LettersOfAllLanguagesStay) {
  const std::string text = "2x1 µ – 数据并行 🚀 é";
  EXPECT_EQ(printable(text), text);
}

TEST(Words, BytesThatAreNoLetters) {
  EXPECT_EQ(printable("\xff"
                      "a\xc3"),
            "·a·");
  EXPECT_EQ(printable("\xc0\xaf"), "··");            // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "···");       // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "····");  // beyond the last letter
  EXPECT_EQ(printable("\xe2\x82"), "··");            // cut short
  EXPECT_EQ(printable(""), "");
}

TEST(Words, NothingIsMarkupInMarkdown) {
  EXPECT_EQ(markdown_text("a|b"), "a\\|b");
  EXPECT_EQ(markdown_text("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
  EXPECT_EQ(markdown_text("[x](http://e) `c` *b* _i_ ~s~ \\ &amp; ![i]"),
            "\\[x\\](http://e) \\`c\\` \\*b\\* \\_i\\_ \\~s\\~ \\\\ &amp;amp; \\!\\[i\\]");
  EXPECT_EQ(markdown_text("a\n| new | row |"), "a·\\| new \\| row \\|");
  EXPECT_EQ(markdown_text("@somebody #1 $x$"), "\\@somebody \\#1 \\$x\\$");
}

TEST(Words, FieldsOfCsv) {
  EXPECT_EQ(csv_text("plain"), "plain");
  EXPECT_EQ(csv_text(""), "");
  EXPECT_EQ(csv_text("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_text("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_text("two\r\nlines"), "\"two\r\nlines\"");
}

TEST(Words, NoFieldIsAFormula) {
  EXPECT_EQ(csv_text("=1+1"), "'=1+1");
  EXPECT_EQ(csv_text("+1"), "'+1");
  EXPECT_EQ(csv_text("-1"), "'-1");
  EXPECT_EQ(csv_text("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_text("=cmd|'/c calc'!A0,x"), "\"'=cmd|'/c calc'!A0,x\"");
  EXPECT_EQ(csv_text("\t=1"), "'\t=1");
  EXPECT_EQ(csv_text("\r=1"), "\"'\r=1\"");
}

TEST(Markdown, CodeCannotBeEndedFromInside) {
  EXPECT_EQ(markdown_code("a b"), "`a b`");
  EXPECT_EQ(markdown_code("a `b` c"), "``a `b` c``");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
}

TEST(Markdown, ATableHasItsColumnsOnEveryLine) {
  EXPECT_EQ(markdown_table({{"what"}, {"value", Align::Right}}, {{"a|b", "1"}, {"c\nd", "2"}}),
            "| what | value |\n| --- | ---: |\n| a\\|b | 1 |\n| c·d | 2 |\n");
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
