#include "base/otlp/otlp.h"

#include <gmock/gmock.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "tests/fakes/http_server.h"

namespace chokepoint::otlp {
namespace {

using fakes::HttpServer;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::seconds kWait{10};

const Resource kResource{.attributes = {{"service.name", std::string("chokepoint")}},
                         .program_version = "1"};

TEST(OtlpMetrics, OfOneNameAreOneMetric) {
  const json document = json::parse(
      metrics_json(kResource, {{.name = "a_total",
                                .unit = "1",
                                .is_counter = true,
                                .start_ns = 5,
                                .time_ns = 9,
                                .value = 2,
                                .attributes = {{"node", std::string("x")}}},
                               {.name = "b", .unit = "s", .time_ns = 9, .value = 0.5},
                               {.name = "b", .unit = "s", .time_ns = 9, .value = std::nan("")},
                               {.name = "a_total",
                                .unit = "1",
                                .is_counter = true,
                                .start_ns = 5,
                                .time_ns = 9,
                                .value = 3}}));
  const json& metrics = document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0]["sum"]["dataPoints"].size(), 2U);
  EXPECT_EQ(metrics[0]["sum"]["aggregationTemporality"], 2);
  EXPECT_EQ(metrics[0]["sum"]["isMonotonic"], true);
  // 64-bit numbers are texts.
  EXPECT_EQ(metrics[0]["sum"]["dataPoints"][0],
            json::parse(R"({"attributes":[{"key":"node","value":{"stringValue":"x"}}],
                            "startTimeUnixNano":"5","timeUnixNano":"9","asDouble":2.0})"));
  EXPECT_EQ(metrics[1]["gauge"]["dataPoints"].size(), 1U);
  EXPECT_EQ(document["resourceMetrics"][0]["resource"]["attributes"][0]["key"], "service.name");
}

TEST(OtlpSpans, HaveHexadecimalIdentifiers) {
  const json document = json::parse(
      traces_json(kResource, {{.trace = {.high = 1, .low = 0xabcdef},
                               .id = 2,
                               .parent = 3,
                               .name = "step",
                               .start_ns = 7,
                               .end_ns = 6,
                               .attributes = {{"n", std::int64_t{4}}, {"x", 0.5}, {"b", true}}}}));
  EXPECT_EQ(document["resourceSpans"][0]["scopeSpans"][0]["spans"][0],
            json::parse(R"({"traceId":"00000000000000010000000000abcdef",
              "spanId":"0000000000000002","parentSpanId":"0000000000000003","name":"step","kind":1,
              "startTimeUnixNano":"7","endTimeUnixNano":"7",
              "attributes":[{"key":"n","value":{"intValue":"4"}},
                            {"key":"x","value":{"doubleValue":0.5}},
                            {"key":"b","value":{"boolValue":true}}]})"));
}

TEST(OtlpSpans, OfTheSameTextAreTheSameAndNeverNone) {
  EXPECT_EQ(span_of("a"), span_of("a"));
  EXPECT_NE(span_of("a"), span_of("b"));
  EXPECT_NE(span_of(""), 0U);
  EXPECT_NE(trace_of("a").high, trace_of("a").low);
}

TEST(AnOtlpMetric, HasTheUnitOfItsName) {
  EXPECT_STREQ(unit_in_name("chokepoint_step_median_seconds"), "s");
  EXPECT_STREQ(unit_in_name("chokepoint_interface_sent_bytes_total"), "By");
  EXPECT_STREQ(unit_in_name("chokepoint_own_cpu_ratio"), "1");
}

TEST(ACollector, GetsADocumentByPost) {
  HttpServer fake({"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}"});
  const auto collector = Collector::of(fake.url() + "/otlp/");
  ASSERT_TRUE(collector);
  const auto sent = collector->send_traces(R"({"resourceSpans":[]})", net::Patience::of(kWait));
  fake.wait();
  EXPECT_TRUE(sent) << describe(sent.error());
  EXPECT_THAT(fake.requests().front(), AllOf(StartsWith("POST /otlp/v1/traces HTTP/1.0\r\n"),
                                             HasSubstr("Content-Type: application/json\r\n"),
                                             testing::EndsWith("\r\n\r\n{\"resourceSpans\":[]}")));
}

TEST(ACollector, ThatTakesNothingIsNamedWithItsAnswer) {
  for (const auto& [answer, said] :
       {std::pair("HTTP/1.1 415 Unsupported Media Type\r\n\r\nno JSON", "answered 415: no JSON"),
        {"SSH-2.0-OpenSSH_9.2\r\n", "no HTTP"},
        {"HTTP/1.1 999999\r\n", "no HTTP"}}) {
    HttpServer fake({answer});
    const auto sent = Collector::of(fake.url())->send_metrics("{}", net::Patience::of(kWait));
    ASSERT_FALSE(sent);
    EXPECT_THAT(describe(sent.error()), AllOf(HasSubstr("127.0.0.1"), HasSubstr(said)));
  }
}

// As Prometheus does without a receiver of OTLP: it answers, and closes with what it left unread.
TEST(ACollector, ThatRefusesBeforeItHasReadAllIsHeard) {
  HttpServer fake({"HTTP/1.0 404 Not Found\r\n\r\n404 page not found"}, false);
  const auto sent =
      Collector::of(fake.url())
          ->send_metrics(std::string(std::size_t{8} << 20, 'x'), net::Patience::of(kWait));
  ASSERT_FALSE(sent);
  EXPECT_THAT(describe(sent.error()), HasSubstr("answered 404: 404 page not found"));
}

TEST(ACollector, ThatIsNotThereIsAnError) {
  const HttpServer silent({""});
  for (const std::string& url : {std::string("http://127.0.0.1:1"), silent.url()}) {
    const auto sent = Collector::of(url)->send_metrics("{}", net::Patience::of(kWait));
    ASSERT_FALSE(sent);
    EXPECT_FALSE(describe(sent.error()).empty());
  }
}

TEST(ACollectorsAddress, IsPlainHttp) {
  EXPECT_TRUE(Collector::of("localhost"));
  EXPECT_TRUE(Collector::of("http://[::1]:4318/x"));
  for (const char* wrong : {"https://a:4318", "http://", "http://a:x", "http://a b", ""}) {
    const auto collector = Collector::of(wrong);
    ASSERT_FALSE(collector) << wrong;
    EXPECT_EQ(collector.error().kind, ErrorKind::Usage);
  }
}

}  // namespace
}  // namespace chokepoint::otlp
