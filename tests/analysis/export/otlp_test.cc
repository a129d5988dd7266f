#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/attribution/diagnose.h"
#include "analysis/export/formats.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;

struct Written {
  std::vector<json> metrics;
  std::vector<json> spans;
  std::size_t documents = 0;
};

Written written(RunMaker& maker, std::size_t stop_after = SIZE_MAX) {
  maker.finish();
  auto records = record::open_run(maker.folder());
  EXPECT_TRUE(records);
  ExportedRun run("r", *records, std::nullopt, {});
  Written all;
  const Diagnosis diagnosis = diagnose(run.data(), {});
  write_otlp(run, diagnosis, "1", otlp::Form::Json,
             [&](otlp::Signal signal, const std::string& document) {
               const json parsed = json::parse(document);
               ++all.documents;
               if (signal == otlp::Signal::Metrics) {
                 all.metrics = parsed["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
               } else {
                 for (const json& span : parsed["resourceSpans"][0]["scopeSpans"][0]["spans"]) {
                   all.spans.push_back(span);
                 }
               }
               return all.documents < stop_after;
             });
  return all;
}

TEST(OtlpOfARun, HasASpanOfEachStepBelowItsNodes) {
  RunMaker maker;
  maker.node({.name = "a", .rank = 0, .world_size = 1}).steps({.count = 5, .length_ms = 100});
  const Written all = written(maker);
  ASSERT_EQ(all.spans.size(), 7U);
  EXPECT_EQ(all.spans[0]["name"], "run");
  EXPECT_FALSE(all.spans[0].contains("parentSpanId"));
  EXPECT_EQ(all.spans[1]["name"], "node a");
  EXPECT_EQ(all.spans[1]["parentSpanId"], all.spans[0]["spanId"]);
  for (std::size_t at = 2; at < all.spans.size(); ++at) {
    const json& step = all.spans[at];
    EXPECT_EQ(step["name"], "step");
    EXPECT_EQ(step["traceId"], all.spans[0]["traceId"]);
    EXPECT_EQ(step["parentSpanId"], all.spans[1]["spanId"]);
    EXPECT_EQ(std::stoll(step["endTimeUnixNano"].get<std::string>()) -
                  std::stoll(step["startTimeUnixNano"].get<std::string>()),
              100 * kMsNs);
  }
  EXPECT_NE(all.spans[2]["spanId"], all.spans[3]["spanId"]);
}

TEST(OtlpOfARun, HasTheFiguresUnderTheirNamesInPrometheus) {
  RunMaker maker;
  maker.node({.name = "a", .rank = 0, .world_size = 1}).steps({.count = 5, .length_ms = 100});
  const Written all = written(maker);
  const auto named = [&](const char* name) {
    const auto found = std::ranges::find_if(
        all.metrics, [&](const json& metric) { return metric["name"] == name; });
    return found == all.metrics.end() ? json() : *found;
  };
  const json median = named("chokepoint_step_median_seconds");
  EXPECT_EQ(median["unit"], "s");
  EXPECT_NEAR(median["gauge"]["dataPoints"][0]["asDouble"].get<double>(), 0.1, 1e-6);
  EXPECT_TRUE(named("chokepoint_steps_total")["sum"]["isMonotonic"].get<bool>());
}

TEST(OtlpOfARun, EndsWhereItIsStopped) {
  RunMaker maker;
  maker.node({.name = "a", .rank = 0, .world_size = 1}).steps({.count = 2000, .length_ms = 1});
  EXPECT_EQ(written(maker, 2).documents, 2U);
}

TEST(OtlpOfARun, HasALimitedNumberOfSpansInADocument) {
  RunMaker maker;
  maker.node({.name = "a", .rank = 0, .world_size = 1}).steps({.count = 2000, .length_ms = 1});
  const Written all = written(maker);
  EXPECT_EQ(all.spans.size(), 2002U);
  EXPECT_EQ(all.documents, 5U);
}

}  // namespace
}  // namespace chokepoint::analysis
