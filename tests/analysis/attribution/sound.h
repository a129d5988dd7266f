// What holds of any diagnosis, whatever the run was.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

inline void expect_sound(const Verdict& verdict) {
  EXPECT_GE(verdict.confidence, 0);
  EXPECT_LE(verdict.confidence, 1);
  EXPECT_GE(verdict.share_percent, 0);
  EXPECT_LE(verdict.share_percent, 100.001);
  EXPECT_TRUE(std::isfinite(verdict.lost_ms_per_step));
  EXPECT_LE(verdict.lost_low_ms, verdict.lost_ms_per_step);
  EXPECT_GE(verdict.lost_high_ms, verdict.lost_ms_per_step);
  for (const Evidence& evidence : verdict.evidence) {
    EXPECT_TRUE(!evidence.value || std::isfinite(*evidence.value)) << evidence.what;
    EXPECT_FALSE(evidence.from.empty()) << evidence.what;
  }
  if (verdict.cause == Cause::None) {
    return;
  }
  EXPECT_NE(describe(verdict.verdict, verdict.cause), nullptr)
      << name_of(verdict.cause) << " under " << name_of(verdict.verdict);
  const auto& description =
      *std::ranges::find(cause_table(), verdict.cause, &CauseDescription::cause);
  EXPECT_TRUE(description.evidence.empty() ||
              std::ranges::any_of(verdict.evidence,
                                  [&](const Evidence& evidence) {
                                    return evidence.what.starts_with(description.evidence);
                                  }))
      << description.name << " without '" << description.evidence << "'";
}

// A part of each step has an account, all verdicts matter, and the largest is told first.
inline void expect_sound(const Diagnosis& diagnosis) {
  expect_sound(diagnosis.verdict);
  // Beside computing stands what may cost less than matters.
  double before = diagnosis.verdict.verdict == VerdictClass::Compute
                      ? std::numeric_limits<double>::infinity()
                      : diagnosis.verdict.lost_ms_per_step;
  for (const Verdict& other : diagnosis.others) {
    expect_sound(other);
    EXPECT_GE(other.share_percent, 5);
    EXPECT_LE(other.lost_ms_per_step, before);
    before = other.lost_ms_per_step;
  }
  if (!diagnosis.accounting) {
    return;
  }
  EXPECT_NEAR(diagnosis.accounting->sum(), *diagnosis.steps.mean_ms,
              0.01 * *diagnosis.steps.mean_ms);
  for (const double ms : diagnosis.accounting->ms) {
    EXPECT_GE(ms, -1e-9);
  }
}

}  // namespace chokepoint::analysis
