#include "preflight/commands/history_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

cli::Json document() {
  return cli::Json::parse(R"({"schema": "chokepoint.preflight/1", "version": "0.1.0",
      "started_at": "2026-05-03T14:10:00Z", "host": "head", "interrupted": false,
      "hosts": [{"name": "10.0.0.1", "facts": {"host": "gpu1"}}, {"name": "gpu2"}],
      "pairs": {"count": 1, "a": [0], "b": [1], "rtt_ms": [0.1]}})");
}

Measured measured() {
  HostResult first{.name = "10.0.0.1"};
  first.facts = HostFacts{.host = "gpu1"};
  first.settings = {{"sysctl", {{"net.ipv4.tcp_rmem", "4096 131072 6291456"}}}};
  HostResult absent{.name = "gpu2", .presence = Presence::NoAgent};
  return {.hosts = {first, absent}};
}

TEST(HistoryRows, EachHostsSettingsAreRememberedByItsOwnName) {
  const history::Batch batch = history_rows(document(), measured(), {});
  ASSERT_THAT(batch.rows, SizeIs(1));
  EXPECT_EQ(batch.rows.front().series.subject.host, "gpu1");
  ASSERT_THAT(batch.hosts, SizeIs(1));
  EXPECT_EQ(batch.hosts.front().host, "gpu1");
  EXPECT_EQ(batch.hosts.front().wall_ns, batch.rows.front().measured.wall_ns);
  EXPECT_EQ(batch.hosts.front().settings, measured().hosts.front().settings);
}

TEST(HistoryRows, NothingIsRememberedOfAPreflightWithoutAMeasurement) {
  cli::Json interrupted = document();
  interrupted["interrupted"] = true;
  const history::Batch batch = history_rows(interrupted, measured(), {});
  EXPECT_THAT(batch.rows, IsEmpty());
  EXPECT_THAT(batch.hosts, IsEmpty());
}

}  // namespace
}  // namespace chokepoint::preflight
