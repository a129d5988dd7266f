// usage: steps_of_record NODE.db…
//
// Tells steps from what a record holds of collectives and flows, beside those that it has already:
// so what is found in real training can be held against what the job itself said. A line a source:
// name, steps, median and mean of their durations in milliseconds.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/record/reader.h"
#include "capture/step/collective_cycle.h"
#include "capture/step/traffic_period.h"

namespace {

using namespace chokepoint;
using capture::step::Step;

constexpr std::int64_t kSampleIntervalNs = 2'000'000'000;

void tell(const char* source, std::vector<double> each_ms) {
  std::ranges::sort(each_ms);
  if (each_ms.empty()) {
    std::printf("%-24s none\n", source);
    return;
  }
  const auto count = static_cast<double>(each_ms.size());
  const double mean = std::accumulate(each_ms.begin(), each_ms.end(), 0.0) / count;
  std::printf("%-24s %6zu steps  median %9.3f ms  mean %9.3f ms\n", source, each_ms.size(),
              each_ms[each_ms.size() / 2], mean);
}

double ms_of(const Step& step) {
  return static_cast<double>(step.end_ns - step.start_ns) / 1e6 / static_cast<double>(step.merged);
}

void add_recorded(record::Reader& reader) {
  std::map<record::StepSource, std::vector<double>> sources;
  (void)reader.each<record::Step>([&](const record::Step& step) {
    const std::int64_t busy_ns = step.busy_ns.value_or(step.end_ns - step.start_ns);
    sources[step.source].push_back(static_cast<double>(busy_ns) / 1e6 /
                                   static_cast<double>(step.merged));
  });
  constexpr const char* kNames[] = {"", "marks", "output", "collectives", "traffic"};
  for (const auto& [source, each_ms] : sources) {
    tell((std::string("recorded ") + kNames[static_cast<int>(source)]).c_str(), each_ms);
  }
}

void add_collectives(record::Reader& reader) {
  std::vector<record::Collective> collectives;
  (void)reader.each<record::Collective>(
      [&](const record::Collective& each) { collectives.push_back(each); });
  std::ranges::sort(collectives, {}, &record::Collective::start_ns);
  std::vector<double> each_ms;
  const auto keep = [&](const Step& step) { each_ms.push_back(ms_of(step)); };
  capture::step::CollectiveCycle cycle;
  for (const record::Collective& each : collectives) {
    cycle.take(each, keep);
  }
  cycle.finish(keep);
  tell("collectives", std::move(each_ms));
}

void add_traffic(record::Reader& reader) {
  std::vector<double> each_ms;
  const auto keep = [&](const Step& step) { each_ms.push_back(ms_of(step)); };
  capture::step::TrafficPeriod traffic;
  std::optional<capture::step::Period> period;
  std::int64_t sampled_ns = 0;
  (void)reader.each<record::FlowSample>([&](const record::FlowSample& sample) {
    if (sample.t_ns - sampled_ns >= kSampleIntervalNs) {
      sampled_ns = sample.t_ns;
      period = traffic.estimate(sample.t_ns);
      traffic.report(sample.t_ns, keep);
    }
    traffic.add(sample.t_ns - sample.bin_ns, static_cast<std::uint64_t>(sample.bytes.value_or(0)));
  });
  traffic.report(std::numeric_limits<std::int64_t>::max(), keep);
  tell("traffic", std::move(each_ms));
  if (period) {
    std::printf("%-24s %27.3f ms, strength %.2f\n", "traffic's period", period->period_ns / 1e6,
                period->strength);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    auto reader = record::Reader::open(argv[i]);
    if (!reader) {
      std::fprintf(stderr, "%s\n", describe(reader.error()).c_str());
      return 1;
    }
    std::printf("%s\n", argv[i]);
    add_recorded(*reader);
    add_collectives(*reader);
    add_traffic(*reader);
  }
  return 0;
}
