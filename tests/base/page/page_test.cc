#include "base/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/page/bundle.h"

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

}  // namespace
}  // namespace chokepoint::page
