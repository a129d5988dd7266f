#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "capture/live/metrics.h"
#include "tests/capture/live/figures.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::capture::live {
namespace {

using nlohmann::json;
using record::StepSource;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kTaken = "HTTP/1.1 200 OK\r\n\r\n{}";

json body_of(const std::string& request) {
  return json::parse(request.substr(request.find("\r\n\r\n") + 4));
}

class Otlp : public testing::Test {
 protected:
  // Of a job that ended at once, after two steps of which one is of a worse source.
  std::string remark_of(const std::string& url) {
    auto sender = OtlpSender::open(url, "runs/a", clock_);
    EXPECT_TRUE(sender);
    (*sender)->update(training());
    (*sender)->take({.start_ns = 5, .end_ns = 9, .number = 7, .source = StepSource::Marks});
    (*sender)->take({.start_ns = 5, .end_ns = 9, .source = StepSource::Output});
    (*sender)->finish();
    return (*sender)->remark();
  }

  fakes::ManualClock clock_;
};

TEST_F(Otlp, SendsFiguresStepsAndAtTheEndTheNode) {
  fakes::HttpServer collector({kTaken, kTaken});
  EXPECT_THAT(remark_of(collector.url()), IsEmpty());
  collector.wait();
  ASSERT_THAT(collector.requests(), SizeIs(2));
  EXPECT_THAT(collector.requests()[0], StartsWith("POST /v1/metrics "));
  EXPECT_THAT(collector.requests()[0], HasSubstr("chokepoint_steps_total"));
  EXPECT_THAT(collector.requests()[1], StartsWith("POST /v1/traces "));
  const json spans = body_of(collector.requests()[1])["resourceSpans"][0]["scopeSpans"][0]["spans"];
  ASSERT_THAT(spans, SizeIs(2)) << "the step of the worse source is none";
  EXPECT_EQ(spans[0]["name"], "step");
  EXPECT_EQ(spans[0]["parentSpanId"], spans[1]["spanId"]);
  EXPECT_EQ(spans[1]["name"], "node node1");
}

TEST_F(Otlp, SaysWhatWasNotTaken) {
  const std::string full = "HTTP/1.1 503 Service Unavailable\r\n\r\nfull";
  fakes::HttpServer collector({full, full});
  EXPECT_THAT(remark_of(collector.url()), HasSubstr("answered 503: full"));
}

TEST_F(Otlp, EndsWhereNobodyListens) {
  EXPECT_THAT(remark_of("http://127.0.0.1:1"), HasSubstr("not all reached the collector"));
}

}  // namespace
}  // namespace chokepoint::capture::live
