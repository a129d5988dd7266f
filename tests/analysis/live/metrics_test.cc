#include "analysis/live/metrics.h"

#include <gmock/gmock.h>

#include "tests/fakes/http_server.h"

namespace chokepoint::analysis {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr std::chrono::milliseconds kWait{2000};

TEST(ParseMetrics, ReadsNamesLabelsAndValues) {
  const auto metrics = parse_metrics(
      "# HELP chokepoint_steps_total Steps.\n"
      "# TYPE chokepoint_steps_total counter\n"
      "chokepoint_steps_total{source=\"marks\"} 112\n"
      "process_cpu_seconds_total 3\n"
      "chokepoint_run_info{node=\"a \\\"b\\\\\\n\",label_x=\"1\",} 1 1795000000000\r\n"
      "chokepoint_busy_ratio 1e-3");
  ASSERT_EQ(metrics.size(), 3U);
  EXPECT_EQ(metrics[0].name, "chokepoint_steps_total");
  EXPECT_EQ(metrics[0].labels.at("source"), "marks");
  EXPECT_EQ(metrics[0].value, 112);
  EXPECT_EQ(metrics[1].labels.at("node"), "a \"b\\\n");
  EXPECT_EQ(metrics[1].labels.at("label_x"), "1");
  EXPECT_EQ(metrics[2].value, 0.001);
}

TEST(ParseMetrics, PassesOverWhatIsNoMetric) {
  EXPECT_TRUE(parse_metrics("").empty());
  EXPECT_TRUE(parse_metrics("chokepoint_x{").empty());
  EXPECT_TRUE(parse_metrics("chokepoint_x{a=\"b} 1").empty());
  EXPECT_TRUE(parse_metrics("chokepoint_x{a} 1").empty());
  EXPECT_TRUE(parse_metrics("chokepoint_x NaN\nchokepoint_x +Inf\nchokepoint_x one").empty());
  std::string many;
  for (int line = 0; line < 30'000; ++line) {
    many += "chokepoint_x 1\n";
  }
  EXPECT_EQ(parse_metrics(many).size(), 20'000U) << "bounded";
}

TEST(LiveNodeOfMetrics, HasRatesBetweenTwoAnswers) {
  const auto before = parse_metrics(
      "chokepoint_run_info{node=\"a\"} 1\n"
      "chokepoint_run_elapsed_seconds 10\n"
      "chokepoint_job_sent_bytes_total{interface=\"eth0\"} 1000000\n"
      "chokepoint_job_sent_bytes_total{interface=\"eth1\"} 0\n"
      "chokepoint_sent_packets_total 1000\n"
      "chokepoint_retransmitted_packets_total 10\n");
  const auto now = parse_metrics(
      "chokepoint_run_info{node=\"a\"} 1\n"
      "chokepoint_run_elapsed_seconds 12\n"
      "chokepoint_steps_total{source=\"marks\"} 7\n"
      "chokepoint_step_seconds{source=\"marks\"} 0.25\n"
      "chokepoint_job_sent_bytes_total{interface=\"eth0\"} 13500000\n"
      "chokepoint_job_sent_bytes_total{interface=\"eth1\"} 12500000\n"
      "chokepoint_sent_packets_total 2000\n"
      "chokepoint_retransmitted_packets_total 15\n"
      "chokepoint_job_stalled_seconds 0\n"
      "chokepoint_gpu_ratio 0.5\n");
  const LiveNode live = live_node(now, before);
  EXPECT_EQ(live.name, "a");
  EXPECT_THAT(live.elapsed_s, Optional(12));
  EXPECT_EQ(live.step_source, "marks");
  EXPECT_THAT(live.step, Optional(7));
  EXPECT_THAT(live.step_ms, Optional(250));
  EXPECT_THAT(live.sent_mbps, Optional(DoubleNear(100, 0.001)));
  EXPECT_EQ(live.received_mbps, std::nullopt);
  EXPECT_THAT(live.retransmitted_percent, Optional(DoubleNear(0.5, 0.001)));
  EXPECT_THAT(live.gpu_percent, Optional(50));
  EXPECT_EQ(live.stalled_s, std::nullopt);
  EXPECT_EQ(live_node(now, {}).sent_mbps, std::nullopt) << "one answer gives no rate";
  EXPECT_EQ(live_node(before, now).sent_mbps, std::nullopt) << "the counter began anew";
}

std::string response_of(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + body;
}

TEST(Scraper, RemembersStepsFromAnswerToAnswer) {
  const auto body = [](int steps, double seconds) {
    return response_of(
        "chokepoint_run_info{node=\"a\"} 1\nchokepoint_steps_total{source=\"marks\"} " +
        std::to_string(steps) + "\nchokepoint_step_seconds{source=\"marks\"} " +
        std::to_string(seconds) + "\n");
  };
  const fakes::HttpServer node({body(1, 0.1), body(1, 0.1), body(2, 0.2)});
  auto scraper = Scraper::of(node.url() + "/metrics");
  ASSERT_TRUE(scraper);
  scraper->read(kWait);
  scraper->read(kWait);
  const LiveNode live = scraper->read(kWait);
  EXPECT_EQ(live.state, NodeState::Running);
  EXPECT_THAT(live.recent_ms, ElementsAre(100, 200)) << "a step that is told twice is one";
}

TEST(Scraper, SaysWhyANodeIsSilent) {
  const fakes::HttpServer other({"SSH-2.0-OpenSSH_9.2\r\n\r\n", response_of("node_load1 0.3\n"),
                                 response_of(std::string(5 << 20, 'x'))});
  auto scraper = Scraper::of(other.url() + "/metrics");
  ASSERT_TRUE(scraper);
  for (const char* trouble : {"what answers there is no HTTP", "serves no metrics of chokepoint"}) {
    const LiveNode live = scraper->read(kWait);
    EXPECT_EQ(live.state, NodeState::Silent);
    EXPECT_EQ(live.trouble, trouble);
  }
  EXPECT_THAT(scraper->read(kWait).trouble, HasSubstr("too long"));
}

TEST(Scraper, OneLateAnswerIsNoEnd) {
  const std::string good = response_of("chokepoint_run_info{node=\"a\"} 1\n");
  const fakes::HttpServer node({good, "", good, "", "", ""});
  auto scraper = Scraper::of(node.url() + "/metrics");
  ASSERT_TRUE(scraper);
  std::string states;
  for (int look = 0; look < 6; ++look) {
    const LiveNode live = scraper->read(kWait);
    EXPECT_EQ(live.name, "a");
    states += live.state == NodeState::Silent ? 's' : live.trouble.empty() ? 'r' : 'l';
  }
  EXPECT_EQ(states, "rlrlls");
}

TEST(Scraper, TakesAddressesAlone) {
  for (const char* text : {"", "gpu1", "gpu1:", "gpu1:http", "http://gpu1", ":9464", "a:70000"}) {
    const auto scraper = Scraper::of(text);
    ASSERT_FALSE(scraper) << text;
    EXPECT_EQ(scraper.error().kind, ErrorKind::Usage);
  }
  EXPECT_TRUE(Scraper::of("[::1]:9464"));
  EXPECT_TRUE(Scraper::of("http://gpu1:9464/"));
}

}  // namespace
}  // namespace chokepoint::analysis
