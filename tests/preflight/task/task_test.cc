#include "preflight/task/task.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json/codec.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr std::array kAll{TaskKind::Doctor,      TaskKind::Names,      TaskKind::Latency,
                          TaskKind::Loss,        TaskKind::Path,       TaskKind::Tcp,
                          TaskKind::Flows,       TaskKind::Rates,      TaskKind::RdmaBandwidth,
                          TaskKind::RdmaLatency, TaskKind::Collective, TaskKind::Loaded,
                          TaskKind::Processor,   TaskKind::Storage};

Task whole(TaskKind kind) {
  return {.kind = kind,
          .peer = "10.0.0.2",
          .port = 5211,
          .time = milliseconds(1500),
          .sends = true,
          .receives = true,
          .streams = 4,
          .rate_bits_per_s = 2e6,
          .bytes = 1 << 20,
          .hosts = {"gpu1", "fe80::1%eth0"},
          .folder = "/data/set 1"};
}

Json with(TaskKind kind, const char* name, Json value) {
  Json body = json::to_json(whole(kind));
  body[name] = std::move(value);
  return body;
}

TEST(Task, ComesBackAsItWas) {
  for (const TaskKind kind : kAll) {
    EXPECT_EQ(task_in(Json::parse(json::to_json(whole(kind)).dump())).value(), whole(kind));
  }
  EXPECT_EQ(task_in(json::to_json(Task())).value(), Task());
}

TEST(Task, TheFieldThatIsWrongIsNamed) {
  const std::vector<std::pair<const char*, Json>> wrong{{"kind", "shell"},
                                                        {"kind", 1},
                                                        {"kind", nullptr},
                                                        {"peer", "-oProxyCommand=x"},
                                                        {"peer", "a\nb"},
                                                        {"peer", ""},
                                                        {"peer", std::string(256, 'a')},
                                                        {"port", 0},
                                                        {"port", 65536},
                                                        {"time_ms", 9},
                                                        {"time_ms", 3'600'001},
                                                        {"time_ms", 0.5},
                                                        {"sends", 1},
                                                        {"receives", "yes"},
                                                        {"streams", 0},
                                                        {"streams", 129},
                                                        {"rate_bits_per_s", -1},
                                                        {"rate_bits_per_s", 1e14},
                                                        {"bytes", -1},
                                                        {"bytes", INT64_MAX},
                                                        {"hosts", "gpu1"},
                                                        {"hosts", Json::array({1})}};
  for (const auto& [name, value] : wrong) {
    const Result<Task> task = task_in(with(TaskKind::Tcp, name, value));
    ASSERT_FALSE(task) << name << value;
    EXPECT_EQ(task.error().kind, ErrorKind::Usage);
    EXPECT_THAT(describe(task.error()), HasSubstr(name)) << value;
  }
}

TEST(Task, WhatAKindNeedsHasToBeThere) {
  Task silent = whole(TaskKind::Tcp);
  silent.sends = silent.receives = false;
  EXPECT_FALSE(task_in(json::to_json(silent)));
  EXPECT_FALSE(task_in(with(TaskKind::RdmaLatency, "sends", false)));
  EXPECT_FALSE(task_in(with(TaskKind::Loss, "rate_bits_per_s", 0)));
  EXPECT_FALSE(task_in(with(TaskKind::Collective, "bytes", 0)));
  EXPECT_FALSE(task_in(with(TaskKind::Names, "hosts", Json::array())));
  EXPECT_FALSE(task_in(with(TaskKind::Collective, "hosts", {"gpu1", "--key-file=/etc/shadow"})));
  EXPECT_TRUE(task_in(with(TaskKind::Doctor, "peer", "")));
}

TEST(Task, AFolderIsAPathAndNothingElse) {
  for (const char* folder : {"", "data", "--size=1T", "/a\nb", "../etc"}) {
    EXPECT_FALSE(task_in(with(TaskKind::Storage, "folder", folder))) << folder;
  }
  EXPECT_FALSE(task_in(with(TaskKind::Storage, "folder", "/" + std::string(5000, 'a'))));
  EXPECT_TRUE(task_in(with(TaskKind::Storage, "folder", "/mnt/data set")));
}

// A coordinator that knows no folders asks for none.
TEST(Task, AFolderMayBeAbsent) {
  Json body = json::to_json(whole(TaskKind::Tcp));
  body.erase("folder");
  EXPECT_EQ(task_in(body).value().folder, "");
}

TEST(Task, ATaskHasSoManyHostsAndNoMore) {
  const Json most(Json::array_t(kMaxHostsInTask, "gpu1"));
  EXPECT_TRUE(task_in(with(TaskKind::Names, "hosts", most)));
  const Json more(Json::array_t(kMaxHostsInTask + 1, "gpu1"));
  EXPECT_FALSE(task_in(with(TaskKind::Names, "hosts", more)));
}

TEST(Task, NoBodyAtAllIsAnError) {
  EXPECT_FALSE(task_in(Json::object()));
  EXPECT_FALSE(task_in({{"kind", "tcp"}}));
}

TEST(Task, MayTakeLongerThanItsTimeButNotForEver) {
  for (const TaskKind kind : kAll) {
    const Task task = whole(kind);
    EXPECT_GT(longest(task), task.time);
    EXPECT_LE(longest(task), 8 * task.time + std::chrono::seconds(60));
  }
}

// What hangs must leave a quick preflight time for all the rest.
TEST(Task, AShortOneThatHangsIsSoonOver) {
  using std::chrono::seconds;
  for (const TaskKind kind : {TaskKind::Latency, TaskKind::Loss, TaskKind::Tcp}) {
    EXPECT_LE(longest({.kind = kind, .time = seconds(1)}), seconds(12));
  }
  EXPECT_LE(longest({.kind = TaskKind::Collective, .time = seconds(1), .hosts = {"a", "b"}}),
            seconds(12));
}

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
  EXPECT_EQ(line_of({.kind = TaskKind::Flows, .peer = "b", .rate_bits_per_s = 1e7}),
            "chokepoint probe paths b --rate=10000000 --time=1000ms --json --quiet --port=5210");
  EXPECT_EQ(line_of({.kind = TaskKind::Rates, .peer = "b", .time = milliseconds(6000)}),
            "chokepoint probe paths b --protocol=tcp --flows=24 --time=6000ms --json --quiet "
            "--port=5210");
  EXPECT_EQ(line_of({.kind = TaskKind::RdmaLatency, .peer = "b"}),
            "chokepoint rdma write lat b --time=1000ms --json --quiet --port=5210");
  EXPECT_EQ(line_of({.kind = TaskKind::Collective, .bytes = 1024, .hosts = {"a", "b:9"}}),
            "chokepoint probe collective --backend=gloo --hosts=a,b:9 --bytes=1024 --time=1000ms "
            "--json --quiet --port=5210");
}

TEST(Command, OfTheHostAloneCallsNoServer) {
  EXPECT_EQ(line_of({.kind = TaskKind::Processor}, true),
            "chokepoint probe processor --time=1000ms --json --quiet");
  EXPECT_EQ(line_of({.kind = TaskKind::Storage, .folder = "/data"}, true),
            "chokepoint probe storage /data --bytes=256M --time=1000ms --json --quiet");
}

TEST(Command, OfAPathMayBeHeldToAPaceOrLoaded) {
  EXPECT_THAT(line_of({.kind = TaskKind::Tcp, .peer = "b", .rate_bits_per_s = 5e8}),
              HasSubstr("--time=1000ms --rate=500000000 "));
  EXPECT_EQ(line_of({.kind = TaskKind::Loaded, .peer = "b", .time = milliseconds(2400)}),
            "chokepoint probe latency b --idle=2400ms --time=2400ms --gap=4ms --interval=200ms "
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

TEST(HostText, NamesAndAddresses) {
  for (const char* text : {"gpu1", "gpu-1.cluster.example", "10.0.0.1", "fe80::1%eth0", "[::1]",
                           "10.0.0.1:5210", "gpu_1", "r\xC3\xA9seau"}) {
    EXPECT_TRUE(is_host_text(text)) << text;
  }
}

TEST(HostText, NothingThatACommandLineTakesForSomethingElse) {
  for (const std::string& text :
       {std::string(), std::string("-x"), std::string("--json"), std::string("a b"),
        std::string("a,b"), std::string("a\nb"), std::string("a\tb"), std::string("a\x1b[31m"),
        std::string("a\0b", 3), std::string("a/b"), std::string("$(id)"), std::string("`id`"),
        std::string("'a'"), std::string("a\x7f"), std::string(256, 'a')}) {
    EXPECT_FALSE(is_host_text(text)) << text;
  }
}

}  // namespace

}  // namespace chokepoint::preflight
