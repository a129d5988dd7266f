#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/diagnose.h"
#include "base/documents/probe_storage.h"
#include "base/record/names.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"
#include "tests/fakes/printed.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

constexpr std::int64_t kMs = 1'000'000;

// Two hosts that exchange in the last 10 of every 100 ms.
class OfInput : public testing::Test {
 protected:
  OfInput() {
    for (const char* name : {"a", "b"}) {
      made_.host(name);
    }
    MadeTraffic way = full_link();
    way.busy_ms = 10;
    made_.add_traffic(made_.connect("a", "b"), Direction::AToB, way);
  }

  // In every `every`th step from `from_ms` to `to_ms` of it.
  void share(const std::string& node, std::string_view name, const std::string& mount,
             std::int64_t from_ms, std::int64_t to_ms, double percent = 100, int every = 1) {
    const record::Process& process = made_.node(node).processes.front();
    SeriesData series;
    series.row = {.name = std::string(name),
                  .subject = std::to_string(process.pid) + (mount.empty() ? "" : " " + mount),
                  .kind = record::SeriesKind::Gauge};
    const std::int64_t steps = made_.span().length_ns() / (100 * kMs);
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t start_ns = made_.span().start_ns + step * 100 * kMs;
      const double value = step % every == 0 ? percent : 0;
      series.readings.push_back({.t_ns = start_ns + from_ms * kMs, .bin_ns = from_ms * kMs});
      series.readings.push_back({.t_ns = start_ns + to_ms * kMs,
                                 .bin_ns = (to_ms - from_ms) * kMs,
                                 .value = value,
                                 .peak = value});
      series.readings.push_back({.t_ns = start_ns + 100 * kMs, .bin_ns = (100 - to_ms) * kMs});
    }
    made_.node(node).series.push_back(series);
  }
  void mount(const std::string& node, const std::string& point, const std::string& type,
             bool is_remote) {
    const auto fact = [&](const char* key, const std::string& value) {
      made_.node(node).facts.push_back(
          {.category = "mount", .subject = point, .key = key, .value = value});
    };
    fact("type", type);
    fact("source", "server:/export");
    fact("is_remote", is_remote ? "true" : "false");
  }
  Diagnosis diagnosis(const std::vector<double>& late_ms = {0, 0}) {
    made_.collectives(10, late_ms);
    Diagnosis found = diagnose(made_.data);
    expect_sound(found);
    return found;
  }

  MadeRun made_{{.steps = 30}};
};

TEST_F(OfInput, AStepThatReadsOnAllRanksWaitsForItsFiles) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputReading, "/data", 10, 60);
    mount(node, "/data", "ext4", false);
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Input);
  EXPECT_EQ(found.verdict.cause, Cause::StorageRead);
  EXPECT_EQ(found.verdict.where.mount, "/data");
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 50, 2);
  EXPECT_NEAR((*found.accounting)[Account::Input], 50, 2);
  EXPECT_NEAR((*found.accounting)[Account::Compute], 40, 2);
}

TEST_F(OfInput, AFileSystemOnAnotherHostIsNamedAsThat) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputReading, "/data", 10, 60);
    mount(node, "/data", "nfs4", true);
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.cause, Cause::RemoteFileSystem);
  EXPECT_NE(sentence_of(found.verdict).find("/data on "), std::string::npos);
}

// Of 100 MB read from the disk, most had been in memory before.
TEST_F(OfInput, WhatIsReadAgainAndAgainDoesNotFitIntoThePageCache) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputReading, "/data", 10, 60);
    mount(node, "/data", "ext4", false);
    made_.node(node).facts.push_back(
        {.category = "mount", .subject = "/data", .key = "disk", .value = "sda"});
    made_.counter(made_.node(node), record::kDiskReadBytes, "sda", 100e6);
    made_.counter(made_.node(node), record::kRefaults, "", 40e6);
  }
  EXPECT_EQ(diagnosis().verdict.cause, Cause::StorageRead);
  for (const char* node : {"a", "b"}) {
    made_.node(node).collectives.clear();
    std::erase_if(made_.node(node).series,
                  [](const SeriesData& each) { return each.row.name == record::kRefaults; });
    made_.counter(made_.node(node), record::kRefaults, "", 80e6);
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.cause, Cause::PageCache);
  EXPECT_EQ(found.verdict.where.mount, "/data");
}

TEST_F(OfInput, TheRateThatWasReachedStandsBesideTheOneThatAProbeFound) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputReading, "/data", 10, 60);
    mount(node, "/data", "nfs4", true);
    made_.counter(made_.node(node), record::kNfsReadBytes, "/data", 30e6);
    made_.counter(made_.node(node), record::kNfsRequests, "/data", 100);
    made_.counter(made_.node(node), record::kNfsRoundTrips, "/data", 2e9);
    for (const auto& [mounted, mb_per_s] : {std::pair{"/data", 400}, std::pair{"/", 900}}) {
      const documents::ProbeStorage measured{
          .mount = host::Mount{.point = mounted}, .read_mb_per_s = mb_per_s, .read_cold = true};
      made_.node(node).probes.push_back(
          {.t_ns = 5, .kind = "storage", .document = fakes::printed_text(measured)});
    }
  }
  const Diagnosis found = diagnosis();
  const auto figure = [&](const std::string& what) {
    const auto& all = found.verdict.evidence;
    const auto place = std::ranges::find(all, what, &Evidence::what);
    return place == all.end() ? 0 : place->value.value_or(0);
  };
  EXPECT_NEAR(figure("read from the server"), 30, 1);
  EXPECT_NEAR(figure("the server answered a request within"), 20, 0.1);
  EXPECT_EQ(figure("it can read"), 400);
}

TEST_F(OfInput, WhatIsReadBesideExchangesCostsNothing) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputReading, "/data", 92, 99);
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_NEAR((*found.accounting)[Account::Input], 0, 0.5);
}

TEST_F(OfInput, LoadersThatComputeNeedProcessorsOrToBeMore) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputWaiting, "", 10, 50);
    share(node, record::kLoadersRunning, "", 10, 90);
    made_.gauge(made_.node(node), record::kLoaders,
                std::to_string(made_.node(node).processes.front().pid), 2);
  }
  EXPECT_EQ(diagnosis().verdict.cause, Cause::LoaderCount);
  for (const char* node : {"a", "b"}) {
    made_.node(node).collectives.clear();
    made_.counter(made_.node(node), record::kPressureSome, "cpu", 0.4e9);
  }
  const Diagnosis crowded = diagnosis();
  EXPECT_EQ(crowded.verdict.verdict, VerdictClass::Input);
  EXPECT_EQ(crowded.verdict.cause, Cause::LoaderProcessor);
}

TEST_F(OfInput, LoadersThatWaitForWhatIsElsewhereAreTooFew) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputWaiting, "", 10, 50);
    share(node, record::kLoadersRunning, "", 10, 50, 5);
    share(node, record::kLoadersRemote, "", 10, 50, 80);
    made_.gauge(made_.node(node), record::kLoaders,
                std::to_string(made_.node(node).processes.front().pid), 2);
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Input);
  EXPECT_EQ(found.verdict.cause, Cause::LoaderRemote);
  EXPECT_EQ(found.verdict.where.mount, "");
}

TEST_F(OfInput, LoadersThatWaitForFilesAreHeldByThem) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputWaiting, "", 10, 50);
    share(node, record::kLoadersRunning, "", 10, 50, 25);
    share(node, record::kLoadersWaiting, "/data", 10, 50, 75);
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.cause, Cause::StorageRead);
  EXPECT_EQ(found.verdict.where.mount, "/data");
}

TEST_F(OfInput, ARankThatReadsForLongerIsLateForThat) {
  share("a", record::kInputReading, "/data", 5, 10);
  share("b", record::kInputReading, "/data", 10, 60);
  const Diagnosis found = diagnosis({0, 45});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(found.verdict.cause, Cause::Input);
  EXPECT_EQ(found.verdict.where.rank, 1);
  EXPECT_EQ(found.verdict.where.mount, "/data");
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 45, 2);
}

// The others sleep meanwhile, and their loaders fill up what they read ahead.
TEST_F(OfInput, WaitingForAnotherRankIsNoWaitForABatch) {
  share("a", record::kInputWaiting, "", 46, 88);
  share("b", record::kInputReading, "/data", 10, 60);
  const Diagnosis found = diagnosis({0, 45});
  EXPECT_EQ(found.verdict.cause, Cause::Input);
  EXPECT_NEAR((*found.accounting)[Account::Input], 0, 1);
}

TEST_F(OfInput, ARankThatWritesNowAndThenSavesACheckpoint) {
  made_.collectives(10, {0, 0});
  auto& rows = made_.node("b").collectives;
  for (std::size_t step = 0; step < rows.size(); step += 5) {
    rows[step].own_ready_ns = rows[step].own_ready_ns.value() - 80 * kMs;
    rows[step].start_ns -= 80 * kMs;
  }
  share("a", record::kInputWriting, "/saved", 5, 85, 100, 5);
  share("b", record::kInputReading, "/data", 0, 1, 0);
  const Diagnosis found = diagnose(made_.data);
  expect_sound(found);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Storage);
  EXPECT_EQ(found.verdict.cause, Cause::Checkpoint);
  EXPECT_EQ(found.verdict.where.rank, 0);
  EXPECT_EQ(found.verdict.where.mount, "/saved");
}

TEST_F(OfInput, ARankThatWritesInEachStepKeepsALog) {
  share("a", record::kInputWriting, "/var", 5, 55);
  share("b", record::kInputReading, "/data", 0, 1, 0);
  const Diagnosis found = diagnosis({45, 0});
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Storage);
  EXPECT_EQ(found.verdict.cause, Cause::Log);
  EXPECT_EQ(found.verdict.where.mount, "/var");
}

TEST_F(OfInput, WhatAllRanksWriteIsTheSteps) {
  for (const char* node : {"a", "b"}) {
    share(node, record::kInputWriting, "/saved", 10, 60);
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Storage);
  EXPECT_EQ(found.verdict.cause, Cause::None);
  EXPECT_NEAR((*found.accounting)[Account::Storage], 50, 2);
}

TEST_F(OfInput, NothingIsSaidWhereAHostWasNotSeen) {
  share("a", record::kInputReading, "/data", 10, 60);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::LanBandwidth);
}

}  // namespace
}  // namespace chokepoint::analysis
