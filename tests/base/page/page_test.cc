#include "base/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::page {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class PageTest : public testing::Test {
 protected:
  void SetUp() override {
    if (page_script().empty()) {
      GTEST_SKIP() << "built without the page: npm was missing";
    }
  }
};

std::size_t times(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

constexpr const char* kHostile =
    "</script></noscript></pre></title><!--<script>alert(1)</script>\"'>";

TEST_F(PageTest, CarriesTheDocumentAndTheTextForWhereNoScriptRuns) {
  const auto html = html_of({.title = "run a",
                             .view = "report",
                             .document = {{"run", "a"}},
                             .plain_text = "the link is full"});
  ASSERT_TRUE(html);
  EXPECT_THAT(*html, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(*html, HasSubstr("<title>run a</title>"));
  EXPECT_THAT(*html, HasSubstr("<noscript><pre>the link is full</pre></noscript>"));
  EXPECT_THAT(*html, HasSubstr(R"(id="document">{"run":"a"}</script>)"));
  EXPECT_THAT(*html, HasSubstr(R"(<body data-view="report">)"));
  EXPECT_THAT(*html, EndsWith("</html>\n"));
}

TEST_F(PageTest, NoTextCanEndTheElementThatHoldsIt) {
  const auto plain = html_of({.title = "a", .view = "b", .document = "c", .plain_text = "d"});
  const auto hostile = html_of({.title = kHostile,
                                .view = kHostile,
                                .document = {{kHostile, kHostile}},
                                .plain_text = kHostile});
  ASSERT_TRUE(plain && hostile);
  for (const char* tag :
       {"<script", "</script", "<!--", "</title", "</noscript", "</pre", "<body"}) {
    EXPECT_EQ(times(*hostile, tag), times(*plain, tag)) << tag;
  }
}

TEST_F(PageTest, AsksNoNetworkForAnything) {
  const auto html = html_of({.title = "a", .view = "report"});
  ASSERT_TRUE(html);
  EXPECT_THAT(*html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_EQ(times(*html, " src="), times(page_script(), " src="));
  EXPECT_EQ(times(*html, "<link"), times(page_script(), "<link"));
}

TEST_F(PageTest, IsSmallWithoutADocument) {
  const auto html = html_of({.title = "a", .view = "report"});
  ASSERT_TRUE(html);
  EXPECT_LT(html->size(), 256U * 1024);
}

using testing::HasSubstr;
using testing::Not;
using namespace std::string_literals;

TEST(HtmlText, ShowsMarkupAsText) {
  EXPECT_EQ(html_text("<b onclick=\"x('y')\">&amp;"),
            "&lt;b onclick=&quot;x(&#39;y&#39;)&quot;&gt;&amp;amp;");
}

TEST(HtmlText, KeepsLinesAndReplacesWhatHtmlForbids) {
  EXPECT_EQ(html_text("a\n\tb\0c\x1b[2J\x7f"s), "a\n\tb\uFFFDc\uFFFD[2J\uFFFD");
  EXPECT_EQ(html_text("caf\xe9 \xc3\xa9"), "caf\uFFFD \u00E9");
}

TEST(ScriptJson, HoldsNothingThatCouldEndItsElement) {
  const std::string json = script_json({{"</script><!--", "<script>&]]>"}});
  EXPECT_EQ(json, R"({"\u003c/script\u003e\u003c!--":"\u003cscript\u003e\u0026]]\u003e"})");
}

TEST(ScriptJson, SaysTheSameAsTheDocument) {
  const cli::Json document = {
      {"text", "\u2028 \u2029 \u202A </script> \"quoted\"\n\t\0\x01\\ \u00E9"s},
      {"number", 0.1},
      {"nothing", nullptr}};
  const std::string json = script_json(document);
  EXPECT_THAT(json, Not(HasSubstr("\u2028")));
  EXPECT_THAT(json, Not(HasSubstr("\u2029")));
  EXPECT_EQ(cli::Json::parse(json), document);
}

TEST(ScriptJson, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(script_json("a\xff\xfe\x80z\xe2\x80"), "\"a\uFFFD\uFFFD\uFFFDz\uFFFD\"");
}

}  // namespace
}  // namespace chokepoint::page
