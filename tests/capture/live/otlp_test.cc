#include "capture/live/otlp.h"

#include <gmock/gmock.h>

#include <protozero/pbf_reader.hpp>

#include "tests/capture/live/figures.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::capture::live {
namespace {

using protozero::pbf_reader;
using record::StepSource;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kTaken = "HTTP/1.1 200 OK\r\n\r\n";

struct Span {
  std::string id;
  std::string parent;
  std::string name;
};

Span span_of(pbf_reader message) {
  Span span;
  while (message.next()) {
    switch (message.tag()) {
      case 2:
        span.id = message.get_string();
        break;
      case 4:
        span.parent = message.get_string();
        break;
      case 5:
        span.name = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return span;
}

// Of an ExportTraceServiceRequest with one resource and one scope.
std::vector<Span> spans_of(const std::string& request) {
  const std::string body = request.substr(request.find("\r\n\r\n") + 4);
  pbf_reader document(body);
  EXPECT_TRUE(document.next(1));
  pbf_reader resource = document.get_message();
  EXPECT_TRUE(resource.next(2));
  pbf_reader scope = resource.get_message();
  std::vector<Span> spans;
  while (scope.next(2)) {
    spans.push_back(span_of(scope.get_message()));
  }
  return spans;
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
  const std::vector<Span> spans = spans_of(collector.requests()[1]);
  ASSERT_THAT(spans, SizeIs(2)) << "the step of the worse source is none";
  EXPECT_EQ(spans[0].name, "step");
  EXPECT_EQ(spans[0].parent, spans[1].id);
  EXPECT_EQ(spans[1].name, "node node1");
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
