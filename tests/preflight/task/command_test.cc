#include "preflight/task/command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

std::string line_of(const Task& task, bool with_key = false) {
  return fmt::format("{}", fmt::join(command_of(task, "chokepoint", with_key), " "));
}

TEST(Command, IsThisProgramsOwn) {
  EXPECT_EQ(line_of({}), "chokepoint doctor --json --quiet");
  EXPECT_EQ(line_of({.kind = TaskKind::Latency, .peer = "b", .time = milliseconds(300)}),
            "chokepoint probe latency b --idle-only --idle=300ms --gap=1ms --json --quiet "
            "--port=5210");
  EXPECT_EQ(line_of({.kind = TaskKind::Loss, .peer = "b", .port = 9, .rate_bits_per_s = 2e6}),
            "chokepoint probe udp b --both --share --rate=2000000 --time=1000ms --json --quiet "
            "--port=9");
  EXPECT_EQ(line_of({.kind = TaskKind::Path, .peer = "b", .time = milliseconds(5000)}),
            "chokepoint probe path b --time=5000ms --json --quiet --port=5210");
  EXPECT_EQ(line_of({.kind = TaskKind::RdmaLatency, .peer = "b"}),
            "chokepoint rdma write lat b --time=1000ms --json --quiet --port=5210");
  EXPECT_EQ(line_of({.kind = TaskKind::Collective, .bytes = 1024, .hosts = {"a", "b:9"}}),
            "chokepoint probe collective --backend=gloo --hosts=a,b:9 --bytes=1024 --time=1000ms "
            "--json --quiet --port=5210");
}

TEST(Command, OneWayTheOtherOrBoth) {
  Task task{.kind = TaskKind::Tcp, .peer = "b", .streams = 3};
  EXPECT_EQ(line_of(task),
            "chokepoint probe tcp b --send --share --streams=3 --time=1000ms --json --quiet "
            "--port=5210");
  task.receives = true;
  EXPECT_THAT(line_of(task), HasSubstr("--both"));
  task.sends = false;
  EXPECT_THAT(line_of(task), HasSubstr("--receive"));
  EXPECT_THAT(line_of({.kind = TaskKind::RdmaBandwidth, .peer = "b", .receives = true}),
              HasSubstr("rdma write bw b --both"));
}

TEST(Command, AKeyIsNeverInIt) {
  EXPECT_THAT(line_of({.kind = TaskKind::Tcp, .peer = "b"}, true),
              HasSubstr("--key-file=/dev/stdin"));
  EXPECT_THAT(line_of({.kind = TaskKind::Tcp, .peer = "b"}), Not(HasSubstr("key")));
  EXPECT_THAT(line_of({}, true), Not(HasSubstr("key")));
}

TEST(Command, ALongTestHasNoMoreMessagesThanItNeeds) {
  EXPECT_THAT(line_of({.kind = TaskKind::Latency, .peer = "b", .time = milliseconds(60'000)}),
              HasSubstr("--gap=10ms"));
}

}  // namespace
}  // namespace chokepoint::preflight
