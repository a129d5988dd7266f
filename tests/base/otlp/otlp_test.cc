#include "base/otlp/otlp.h"

#include <fmt/format.h>
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

const std::vector<Point> kPoints{
    {.name = "a_total",
     .description = "A",
     .unit = "1",
     .is_counter = true,
     .start_ns = 5,
     .time_ns = 9,
     .value = 2,
     .attributes = {{"node", std::string("x")}}},
    {.name = "b", .unit = "s", .time_ns = 9, .value = 0.5},
    {.name = "b", .unit = "s", .time_ns = 9, .value = std::nan("")},
    {.name = "a_total", .unit = "1", .is_counter = true, .start_ns = 5, .time_ns = 9, .value = 3}};

const std::vector<Span> kSpans{{.trace = {.high = 1, .low = 0xabcdef},
                                .id = 2,
                                .parent = 3,
                                .name = "step",
                                .start_ns = 7,
                                .end_ns = 6,
                                .attributes = {{"n", std::int64_t{4}}, {"x", 0.5}, {"b", true}}}};

// What protoc 3.21 makes of the same metrics and spans by opentelemetry-proto (commit ac2c4b5d).
constexpr const char* kMetricsByProtoc =
    "0ab0010a1e0a1c0a0c736572766963652e6e616d65120c0a0a63686f6b65706f696e74128d010a0f0a0a6368"
    "6f6b65706f696e74120131125c0a07615f746f74616c1201411a01313a4b0a28110500000000000000190900"
    "0000000000002100000000000000403a0b0a046e6f646512030a01780a1b1105000000000000001909000000"
    "0000000021000000000000084010021801121c0a01621a01732a140a12190900000000000000210000000000"
    "00e03f";
constexpr const char* kSpansByProtoc =
    "0a97010a1e0a1c0a0c736572766963652e6e616d65120c0a0a63686f6b65706f696e7412750a0f0a0a63686f"
    "6b65706f696e7412013112620a1000000000000000010000000000abcdef1208000000000000000222080000"
    "0000000000032a047374657030013907000000000000004107000000000000004a070a016e120218044a0e0a"
    "0178120921000000000000e03f4a070a016212021001";

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  }
  return text;
}

TEST(OtlpMetrics, ArePointsOfEachSample) {
  metrics::MetricText text(metrics::Labels{{"run", "r"}});
  text.counter("sent_bytes_total", "Of the job.", 2, {{"node", "x"}});
  text.counter("sent_bytes_total", "Of the job.", 3, {{"node", "y"}});
  text.gauge("step_seconds", "Of a step.", 0.5);
  const std::vector<Point> points = points_of(text, 5, 9);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].name, "chokepoint_sent_bytes_total");
  EXPECT_EQ(points[0].description, "Of the job.");
  EXPECT_EQ(points[0].unit, "By");
  EXPECT_TRUE(points[0].is_counter);
  EXPECT_EQ(points[0].start_ns, 5);
  EXPECT_EQ(points[0].time_ns, 9);
  EXPECT_EQ(points[0].value, 2);
  EXPECT_EQ(points[0].attributes, (Attributes{{"node", std::string("x")}}));
  EXPECT_EQ(points[1].value, 3);
  EXPECT_EQ(points[2].unit, "s");
  EXPECT_FALSE(points[2].is_counter);
  EXPECT_TRUE(points[2].attributes.empty());
}

TEST(OtlpMetrics, OfOneNameAreOneMetric) {
  const json document = json::parse(metrics_document(kResource, kPoints, Form::Json));
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
  const json document = json::parse(traces_document(kResource, kSpans, Form::Json));
  EXPECT_EQ(document["resourceSpans"][0]["scopeSpans"][0]["spans"][0],
            json::parse(R"({"traceId":"00000000000000010000000000abcdef",
              "spanId":"0000000000000002","parentSpanId":"0000000000000003","name":"step","kind":1,
              "startTimeUnixNano":"7","endTimeUnixNano":"7",
              "attributes":[{"key":"n","value":{"intValue":"4"}},
                            {"key":"x","value":{"doubleValue":0.5}},
                            {"key":"b","value":{"boolValue":true}}]})"));
}

TEST(OtlpAsProtobuf, IsWhatProtocMakesOfIt) {
  EXPECT_EQ(hexadecimal(metrics_document(kResource, kPoints, Form::Protobuf)), kMetricsByProtoc);
  EXPECT_EQ(hexadecimal(traces_document(kResource, kSpans, Form::Protobuf)), kSpansByProtoc);
}

// Go's readers of protobuf refuse a whole document for it.
TEST(OtlpAsProtobuf, HasNoTextThatIsNotUtf8) {
  const std::string document = traces_document(kResource, {{.name = "a\xff"}}, Form::Protobuf);
  EXPECT_THAT(document, AllOf(HasSubstr("a\uFFFD"), testing::Not(HasSubstr("\xff"))));
}

TEST(OtlpSpans, OfTheSameTextAreTheSameAndNeverNone) {
  EXPECT_EQ(span_of("a"), span_of("a"));
  EXPECT_NE(span_of("a"), span_of("b"));
  EXPECT_NE(span_of(""), 0U);
  EXPECT_NE(trace_of("a").high, trace_of("a").low);
}

TEST(ARunsName, IsItsFoldersLast) {
  for (const char* folder : {"runs/a", "/runs/a/", "a", "./a//", "b/../a"}) {
    EXPECT_EQ(run_name(folder), "a") << folder;
  }
  EXPECT_EQ(run_name("."), std::filesystem::current_path().filename());
}

TEST(AnOtlpMetric, HasTheUnitOfItsName) {
  EXPECT_STREQ(unit_in_name("chokepoint_step_median_seconds"), "s");
  EXPECT_STREQ(unit_in_name("chokepoint_interface_sent_bytes_total"), "By");
  EXPECT_STREQ(unit_in_name("chokepoint_own_cpu_ratio"), "1");
}

TEST(ACollector, GetsADocumentByPost) {
  HttpServer fake({"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n"});
  const auto collector = Collector::of(fake.url() + "/otlp/");
  ASSERT_TRUE(collector);
  const std::string document("\n\0", 2);
  const auto sent = collector->send(Signal::Traces, document, net::Deadline::of(kWait));
  fake.wait();
  EXPECT_TRUE(sent) << describe(sent.error());
  EXPECT_THAT(fake.requests().front(), AllOf(StartsWith("POST /otlp/v1/traces HTTP/1.0\r\n"),
                                             HasSubstr("Content-Type: application/x-protobuf\r\n"),
                                             testing::EndsWith("\r\n\r\n" + document)));
}

TEST(ACollector, OfOneSignalIsNamedByItsPath) {
  const auto figures = Collector::of("http://a:8428/opentelemetry/v1/metrics/");
  EXPECT_TRUE(figures->takes(Signal::Metrics));
  EXPECT_FALSE(figures->takes(Signal::Traces));
  HttpServer fake({"HTTP/1.1 200 OK\r\n\r\n"});
  const auto spans = Collector::of(fake.url() + "/v1/traces");
  EXPECT_FALSE(spans->takes(Signal::Metrics));
  EXPECT_TRUE(spans->send(Signal::Traces, "", net::Deadline::of(kWait)));
  fake.wait();
  EXPECT_THAT(fake.requests().front(), StartsWith("POST /v1/traces HTTP/1.0\r\n"));
  EXPECT_TRUE(Collector::of("http://a:4318")->takes(Signal::Traces));
}

TEST(ACollector, ThatLeavesPointsOutIsHeard) {
  HttpServer fake({"HTTP/1.1 200 OK\r\n\r\n\x0a\x0b\x08\x03\x12\x07too old"});
  const auto sent = Collector::of(fake.url())->send(Signal::Metrics, "", net::Deadline::of(kWait));
  ASSERT_FALSE(sent);
  EXPECT_THAT(describe(sent.error()), HasSubstr("left out 3: too old"));
}

TEST(ACollector, ThatLeavesNothingOutSaysSoInAnyForm) {
  for (const char* answer :
       {"", "{}", "{\"partialSuccess\":{}}", "\x0a\x04\x12\x02hi", "\x0a\x7f"}) {
    EXPECT_EQ(left_out(answer), "") << answer;
  }
}

TEST(ACollector, ThatTakesNothingIsNamedWithItsAnswer) {
  for (const auto& [answer, said] :
       {std::pair("HTTP/1.1 415 Unsupported Media Type\r\n\r\nno protobuf",
                  "answered 415: no protobuf"),
        {"SSH-2.0-OpenSSH_9.2\r\n", "no HTTP"},
        {"HTTP/1.1 999999\r\n", "no HTTP"}}) {
    HttpServer fake({answer});
    const auto sent =
        Collector::of(fake.url())->send(Signal::Metrics, "", net::Deadline::of(kWait));
    ASSERT_FALSE(sent);
    EXPECT_THAT(describe(sent.error()), AllOf(HasSubstr("127.0.0.1"), HasSubstr(said)));
  }
}

// As Prometheus does without a receiver of OTLP: it answers, and closes with what it left unread.
TEST(ACollector, ThatRefusesBeforeItHasReadAllIsHeard) {
  HttpServer fake({"HTTP/1.0 404 Not Found\r\n\r\n404 page not found"}, false);
  const auto sent =
      Collector::of(fake.url())
          ->send(Signal::Metrics, std::string(std::size_t{8} << 20, 'x'), net::Deadline::of(kWait));
  ASSERT_FALSE(sent);
  EXPECT_THAT(describe(sent.error()), HasSubstr("answered 404: 404 page not found"));
}

TEST(ACollector, ThatIsNotThereIsAnError) {
  const HttpServer silent({""});
  for (const std::string& url : {std::string("http://127.0.0.1:1"), silent.url()}) {
    const auto sent = Collector::of(url)->send(Signal::Metrics, "", net::Deadline::of(kWait));
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
