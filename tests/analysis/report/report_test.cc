#include "analysis/report/report.h"

#include <gmock/gmock.h>

#include "base/record/names.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class NotMeasured : public testing::Test {
 protected:
  NotMeasured() {
    made_.host("a");
    made_.host("b");
  }

  std::vector<std::string> lines(Report report = {}) {
    report.hosts = host_pictures(made_.data);
    return not_measured(made_.data, report);
  }

  void unseen(const char* node, const char* subject, const char* reason) {
    made_.node(node).facts.push_back({.category = std::string(record::kNotSeen),
                                      .subject = subject,
                                      .key = "reason",
                                      .value = reason});
  }

  MadeRun made_;
};

TEST_F(NotMeasured, WhatTheWatchCouldNotSeeIsToldOnceForNodesAlike) {
  unseen("a", "GPUs", "no driver");
  unseen("b", "GPUs", "no driver");
  unseen("b", "", "no sockets at all");
  EXPECT_THAT(lines(), AllOf(Contains("GPUs of a, b: no driver"), Contains("b: no sockets at all"),
                             Not(Contains(HasSubstr("GPUs of a, b: none were seen")))));
}

TEST_F(NotMeasured, DevicesWithoutASeriesAreNamed) {
  made_.gauge(made_.node("a"), record::kGpuUtilization, "0000:3b:00.0", 50);
  EXPECT_THAT(lines(),
              AllOf(Contains(HasSubstr("GPUs of b:")), Contains(HasSubstr("RDMA of a, b:"))));
}

TEST_F(NotMeasured, WhatNobodyAskedBeforeTheRun) {
  EXPECT_THAT(lines(), AllOf(Contains(HasSubstr("probe tcp HOST")),
                             Contains(HasSubstr("the set-up of a, b: 'chokepoint doctor"))));
  Report report;
  report.probes.lines.push_back({.what = "throughput"});
  EXPECT_THAT(lines(report), Not(Contains(HasSubstr("probe tcp HOST"))));
}

TEST_F(NotMeasured, WhatWasLeftOutOfThePage) {
  Report report;
  report.diagnosis.missing = {"no packets were captured on a"};
  report.timeline.remarks = {"too large"};
  report.flows.left_out = 7;
  EXPECT_THAT(lines(report), AllOf(Contains("no packets were captured on a"), Contains("too large"),
                                   Contains(HasSubstr("7 connections"))));
}

}  // namespace
}  // namespace chokepoint::analysis
