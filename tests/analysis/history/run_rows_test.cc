#include "analysis/history/run_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/commands/made_diagnosis.h"

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> texts(const history::Batch& batch) {
  std::vector<std::string> all;
  for (const history::Row& row : batch.rows) {
    all.push_back(history::text_of(row.series.subject) + ": " + row.series.metric + " " +
                  std::to_string(static_cast<int>(row.measured.value)));
  }
  return all;
}

TEST(RunRows, AJobAndEachOfItsHosts) {
  const RunData run;
  const Diagnosis diagnosis = full_link();
  const history::Batch batch = rows_of({.run = run,
                                        .diagnosis = diagnosis,
                                        .folder = "/runs/a",
                                        .program = "0.1.0",
                                        .began_wall_ns = 5});
  const std::string job = "train --big (2 ranks, 2 hosts)";
  EXPECT_THAT(texts(batch),
              ElementsAre(job + ": step_ms 205", job + ": p99_step_ms 230", job + ": lost_ms 143",
                          "a: computing_ms 61", "b: computing_ms 60"));
  EXPECT_EQ(batch.rows.front().series.setting, "setup=2x1");
  EXPECT_EQ(batch.rows.front().measured.count, 412);
  EXPECT_EQ(batch.rows.front().measured.wall_ns, 5);
  EXPECT_EQ(batch.rows.front().measured.source, "/runs/a");
}

TEST(RunRows, TheJobsRowComesOfTheNodeOfRankZero) {
  const RunData run;
  Diagnosis diagnosis = full_link();
  diagnosis.ranks.erase(diagnosis.ranks.begin());
  EXPECT_THAT(texts(rows_of({.run = run, .diagnosis = diagnosis})),
              ElementsAre("b: computing_ms 60"));
}

TEST(RunRows, ARunWithoutStepsHasNone) {
  const RunData run;
  EXPECT_THAT(rows_of({.run = run, .diagnosis = {}}).rows, IsEmpty());
}

TEST(RunRows, AJobHasOneNameEachTime) {
  Diagnosis diagnosis = full_link();
  const auto name_of = [&](const std::string& command) {
    diagnosis.command = command;
    return job_name_of({}, diagnosis);
  };
  EXPECT_EQ(name_of("/usr/bin/python3 train.py --batch 16 --out=/scratch/20260503/run-812345"),
            name_of("/opt/venv/bin/python3 train.py --batch 16 --out=/other/run-999999"));
  EXPECT_NE(name_of("train.py --batch 16"), name_of("train.py --batch 32"));

  RunData run;
  run.nodes.emplace_back().processes.push_back({.world_size = 2});
  const std::string seen = job_name_of(run, diagnosis);
  diagnosis.ranks.clear();
  EXPECT_EQ(job_name_of(run, diagnosis), seen);
}

}  // namespace
}  // namespace chokepoint::analysis
