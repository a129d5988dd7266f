// The command predict, run as a user does, and a run to predict from. For tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/commands/commands.h"
#include "tests/analysis/run_maker.h"
#include "tests/fakes/cli_run.h"

namespace chokepoint::analysis {

using Words = std::vector<std::string>;

inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline fakes::CliRun predict_with(const Words& words) {
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "test",
                             .sections = cli::one_section({predict_command()})};
  return fakes::run_cli(program, with({"predict"}, words));
}

inline nlohmann::json predict_json(const Words& words) {
  const fakes::CliRun run = predict_with(with(words, {"--json"}));
  EXPECT_EQ(run.code, cli::ExitCode::Done) << run.err;
  return nlohmann::json::parse(run.out);
}

// Data parallel by Gloo: two all-reduces of 4 MB a step of 200 ms, of which all-reduces take 70.
class PredictFromRun : public testing::Test {
 protected:
  PredictFromRun() {
    NodeMaker& a = run_.node({.name = "a", .address = "10.0.0.1", .rank = 0});
    NodeMaker& b = run_.node({.name = "b", .address = "10.0.0.2", .rank = 1});
    for (NodeMaker* node : {&a, &b}) {
      node->add(record::Label{.key = "batch", .value = "16"});
      node->steps({.count = 40, .length_ms = 200});
      node->gauge("gpu.power_w", "GPU-0", {{.ms = 0, .value = 300}, {.ms = 8000, .value = 300}});
      for (std::int64_t number = 0; number < 80; ++number) {
        const double ready_ms =
            static_cast<double>(number / 2) * 200 + (number % 2 == 0 ? 60 : 100);
        node->push(record::Collective{.start_ns = node->at_ms(ready_ms),
                                      .end_ns = node->at_ms(ready_ms + 35),
                                      .number = number,
                                      .kind = record::CollectiveKind::AllReduce,
                                      .bytes = 8'000'000,
                                      .own_ready_ns = node->at_ms(ready_ms),
                                      .peer_ready_ns = node->at_ms(ready_ms)});
      }
    }
    run_.finish();
  }
  std::string folder() { return run_.folder().string(); }
  Words words(const Words& more) {
    return with({"--from", folder(), "--link", "1G", "--rtt", "0.1ms"}, more);
  }
  nlohmann::json told(const Words& more) { return predict_json(words(more)); }

  RunMaker run_;
};

}  // namespace chokepoint::analysis
