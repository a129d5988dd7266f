#include "base/page/escape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::page {
namespace {

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
