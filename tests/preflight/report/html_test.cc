// The page for a browser and the reduced document inside it, over document.cc and base/page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/page/page.h"
#include "preflight/report/document.h"
#include "tests/preflight/report/made_cluster.h"
#include "tests/preflight/report/quiet_context.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PreflightHtml : public testing::Test {
 protected:
  void SetUp() override {
    if (page::page_script().empty()) {
      GTEST_SKIP() << "built without the page: npm was missing";
    }
  }

  static std::string html(std::string_view kind) {
    const MadeCluster cluster = made_cluster_named(kind);
    const QuietContext quiet;
    return html_of(quiet.context, cluster.measured, cluster.judgement).value_or("");
  }

  static Json embedded(const std::string& html) {
    const std::string begin = "id=\"document\">";
    const auto at = html.find(begin) + begin.size();
    return Json::parse(html.substr(at, html.find("</script>", at) - at));
  }
};

TEST_F(PreflightHtml, CarriesTheDocumentAndTheTextPage) {
  const std::string text = html("four");
  const MadeCluster cluster = made_cluster_named("four");
  const QuietContext quiet;
  EXPECT_EQ(embedded(text), document_of(quiet.context, cluster.measured, cluster.judgement));
  EXPECT_THAT(text, AllOf(HasSubstr("<title>Preflight of 4 hosts"),
                          HasSubstr("<body data-view=\"preflight\">"),
                          HasSubstr("do      ssh gpu3 ip link set eth0 mtu 9000")));
}

TEST_F(PreflightHtml, HostileTextsEndNoElement) {
  EXPECT_THAT(html("hostile"), AllOf(Not(HasSubstr("<img")), Not(HasSubstr("\033")),
                                     Not(HasSubstr("onerror=\"broken"))));
}

TEST(Reduced, HasThreeDigitsAndOneFigureForAllThatAreTheSame) {
  Json document = {
      {"hosts", {{{"doctor", {{{"status", "PASS"}}, {{"status", "WARNING"}}}}}}},
      {"names", {1}},
      {"pairs",
       {{"a", {0, 0}},
        {"b", {1, 2}},
        {"rtt_ms", {0.0812345, nullptr}},
        {"ipv4", {"works", "works"}},
        {"there",
         {{"tcp_mbps", {94123.4, 1.23456}}, {"hops", {1, 1}}, {"tcp_limit", {"network", nullptr}}}},
        {"back", {{"tcp_mbps", nullptr}, {"loss_percent", {0, 0}}}}}}};
  reduce(document);
  const Json wanted = {{"hosts", {{{"doctor", {{{"status", "WARNING"}}}}}}},
                       {"pairs",
                        {{"a", {0, 0}},
                         {"b", {1, 2}},
                         {"rtt_ms", {0.0812, nullptr}},
                         {"there", {{"tcp_mbps", {94100, 1.23}}, {"hops", 1}}},
                         {"back", {{"tcp_mbps", nullptr}, {"loss_percent", 0}}}}},
                       {"reduced", true}};
  EXPECT_EQ(document, wanted) << document.dump();
}

TEST(Reduced, IsNoBaseline) {
  const MadeCluster cluster = made_cluster(3);
  const QuietContext quiet;
  Json document = document_of(quiet.context, cluster.measured, cluster.judgement);
  reduce(document);
  EXPECT_FALSE(measured_in(document));
}

}  // namespace
}  // namespace chokepoint::preflight
