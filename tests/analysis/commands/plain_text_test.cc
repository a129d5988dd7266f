#include "analysis/commands/plain_text.h"

#include <gtest/gtest.h>

namespace chokepoint::analysis {
namespace {

TEST(PlainText, ControlCharactersAreShown) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[31m\x7f"), "a·b·c·[31m·");
  EXPECT_EQ(one_line(std::string_view("a\0b", 3)), "a·b");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "31m"),
            "·31m");  // CSI in one byte
  EXPECT_EQ(one_line("a\xe2\x80\xa8"
                     "b\xe2\x80\xae"
                     "c\xe2\x81\xa6"),
            "a·b·c·");
}

TEST(PlainText, LettersOfAllLanguagesStay) {
  const std::string text = "2x1 µ – 数据并行 🚀 é";
  EXPECT_EQ(one_line(text), text);
}

TEST(PlainText, BytesThatAreNoLetters) {
  EXPECT_EQ(one_line("\xff"
                     "a\xc3"),
            "·a·");
  EXPECT_EQ(one_line("\xc0\xaf"), "··");            // overlong
  EXPECT_EQ(one_line("\xed\xa0\x80"), "···");       // half of a pair
  EXPECT_EQ(one_line("\xf4\x90\x80\x80"), "····");  // beyond the last letter
  EXPECT_EQ(one_line("\xe2\x82"), "··");            // cut short
  EXPECT_EQ(one_line(""), "");
}

TEST(PlainText, NothingIsMarkupInMarkdown) {
  EXPECT_EQ(markdown_text("a|b"), "a\\|b");
  EXPECT_EQ(markdown_text("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
  EXPECT_EQ(markdown_text("[x](http://e) `c` *b* _i_ ~s~ \\ &amp; ![i]"),
            "\\[x\\](http://e) \\`c\\` \\*b\\* \\_i\\_ \\~s\\~ \\\\ &amp;amp; \\!\\[i\\]");
  EXPECT_EQ(markdown_text("a\n| new | row |"), "a·\\| new \\| row \\|");
  EXPECT_EQ(markdown_text("@somebody #1 $x$"), "\\@somebody \\#1 \\$x\\$");
}

TEST(PlainText, FieldsOfCsv) {
  EXPECT_EQ(csv_text("plain"), "plain");
  EXPECT_EQ(csv_text(""), "");
  EXPECT_EQ(csv_text("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_text("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_text("two\r\nlines"), "\"two\r\nlines\"");
}

TEST(PlainText, NoFieldIsAFormula) {
  EXPECT_EQ(csv_text("=1+1"), "'=1+1");
  EXPECT_EQ(csv_text("+1"), "'+1");
  EXPECT_EQ(csv_text("-1"), "'-1");
  EXPECT_EQ(csv_text("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_text("=cmd|'/c calc'!A0,x"), "\"'=cmd|'/c calc'!A0,x\"");
  EXPECT_EQ(csv_text("\t=1"), "'\t=1");
  EXPECT_EQ(csv_text("\r=1"), "\"'\r=1\"");
}

}  // namespace
}  // namespace chokepoint::analysis
