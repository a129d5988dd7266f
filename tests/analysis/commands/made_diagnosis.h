// A diagnosis that nobody made, for tests of what shows one.
#pragma once

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

inline Diagnosis full_link() {
  Diagnosis diagnosis{
      .run = "runs/a",
      .command = "train --big",
      .labels = {{"setup", "2x1"}},
      .nodes = {"a", "b"},
      .steps = {.source = record::StepSource::Marks,
                .count = 412,
                .settled = 412,
                .mean_ms = 205.5,
                .median_ms = 204.0,
                .p99_ms = 230.0},
      .accounting = Accounting(),
      .what_ifs = {{.account = Account::Link, .step_ms = 134, .gained_ms = 71.5}},
      .critical_path =
          CriticalPath{
              .step = 206,
              .length_ms = 205.5,
              .parts = {{.kind = PathKind::Computing, .rank = 1, .node = "b", .ms = 59},
                        {.kind = PathKind::Late, .rank = 1, .node = "b", .start_ms = 59, .ms = 3.5},
                        {.kind = PathKind::Transfer,
                         .rank = 1,
                         .node = "b",
                         .to_rank = 0,
                         .start_ms = 62.5,
                         .ms = 143}}},
      .verdict = {.verdict = VerdictClass::LanBandwidth,
                  .cause = Cause::LineRate,
                  .where = {.from = "a", .to = "b"},
                  .lost_ms_per_step = 143,
                  .share_percent = 69.6,
                  .confidence = 0.92,
                  .evidence = {{.what = "throughput from a to b",
                                .value = 197.4,
                                .unit = "mbps",
                                .from = "socket samples of a"},
                               {.what = "the link carries",
                                .value = 200.0,
                                .unit = "mbps",
                                .from = "socket samples of a"},
                               {.what = "round trip while it was full",
                                .value = 12.25,
                                .unit = "ms",
                                .from = "packets of b"}},
                  .disproof = "a probe from a to b that carries more",
                  .advice = {{.what = "a faster link; estimate the gain from 1 Gb/s",
                              .command = "chokepoint predict --from DIR --link 1G"},
                             {.what = "compress gradients"}}},
      .others = {{.verdict = VerdictClass::LanLatency,
                  .cause = Cause::RoundTrips,
                  .where = {.from = "a", .to = "b"},
                  .lost_ms_per_step = 2.5,
                  .share_percent = 1.2,
                  .confidence = 0.4}},
      .ranks =
          {{.rank = 0, .node = "a", .computing_ms = 61, .waiting_ms = 0.5, .communicating_ms = 144},
           {.rank = 1,
            .node = "b",
            .computing_ms = 60,
            .waiting_ms = 1.5,
            .communicating_ms = 144}},
      .missing = {"no packets were captured on a", "no sockets were read on b"},
      .is_complete = true};
  (*diagnosis.accounting)[Account::Compute] = 60;
  (*diagnosis.accounting)[Account::Link] = 143;
  (*diagnosis.accounting)[Account::Latency] = 2.5;
  return diagnosis;
}

}  // namespace chokepoint::analysis
