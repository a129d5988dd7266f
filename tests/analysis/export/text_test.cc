// Texts of strangers in formats of export: CSV, JSON. Prometheus': tests/base/metrics.
#include "base/cli/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/export/exported_run.h"
#include "analysis/export/formats.h"
#include "base/cli/table.h"

namespace chokepoint::analysis {
namespace {

constexpr const char* kLost = "\xEF\xBF\xBD";

std::string csv(std::string_view text) {
  std::string out;
  cli::append_csv(out, text);
  return out;
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

std::string seconds(std::int64_t ns) {
  std::string out;
  append_seconds(out, ns);
  return out;
}

TEST(ExportText, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(cli::valid_utf8("plain"), "plain");
  EXPECT_EQ(cli::valid_utf8("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  for (const char* wrong : {"\xFF", "\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3", "\xE2\x82"}) {
    const std::string text = cli::valid_utf8(std::string("a") + wrong + "z");
    EXPECT_EQ(text.substr(0, 4), std::string("a") + kLost);
    EXPECT_EQ(text.back(), 'z');
    EXPECT_EQ(cli::valid_utf8(text), text);
  }
}

TEST(ExportText, QuotesCellsThatNeedIt) {
  EXPECT_EQ(csv("plain text"), "plain text");
  EXPECT_EQ(csv("a,b"), "\"a,b\"");
  EXPECT_EQ(csv("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(csv("two\r\nlines"), "\"two\r\nlines\"");
  EXPECT_EQ(csv(std::string_view("\0\x1b[31m", 6)), std::string(kLost) + kLost + "[31m");
}

TEST(ExportText, KeepsFormulasFromSpreadsheets) {
  EXPECT_EQ(csv("=1+1"), "'=1+1");
  EXPECT_EQ(csv("=a,b"), "\"'=a,b\"");
  for (const char* begin : {"+1", "-1", "@a", "\ta"}) {
    EXPECT_EQ(csv(begin), std::string("'") + begin);
  }
  EXPECT_EQ(csv("a=1"), "a=1");
}

TEST(ExportText, IsWhatJsonReads) {
  const std::string text = "a\"b\\c\n\r\t\x01\x7F</script>\xC3\xA4";
  EXPECT_EQ(nlohmann::json::parse(json_string(text)).get<std::string>(), text);
  EXPECT_EQ(nlohmann::json::parse(json_string("\xFF")).get<std::string>(), kLost);
}

TEST(ExportText, SecondsAreExact) {
  EXPECT_EQ(seconds(0), "0.000000000");
  EXPECT_EQ(seconds(1'234'567'890'123'456'789), "1234567890.123456789");
  EXPECT_EQ(seconds(-5), "-0.000000005");
  EXPECT_EQ(seconds(-1'500'000'000), "-1.500000000");
}

}  // namespace
}  // namespace chokepoint::analysis
