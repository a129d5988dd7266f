#include "preflight/task/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

using control::Json;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::array kAll{TaskKind::Doctor,        TaskKind::Names,       TaskKind::Latency,
                          TaskKind::Loss,          TaskKind::Path,        TaskKind::Tcp,
                          TaskKind::RdmaBandwidth, TaskKind::RdmaLatency, TaskKind::Collective};

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
          .hosts = {"gpu1", "fe80::1%eth0"}};
}

Json with(TaskKind kind, const char* name, Json value) {
  Json body = body_of(whole(kind));
  body[name] = std::move(value);
  return body;
}

TEST(Task, ComesBackAsItWas) {
  for (const TaskKind kind : kAll) {
    EXPECT_EQ(task_in(Json::parse(body_of(whole(kind)).dump())).value(), whole(kind));
  }
  EXPECT_EQ(task_in(body_of(Task())).value(), Task());
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
    EXPECT_THAT(task.error().subject, HasSubstr(name)) << value;
  }
}

TEST(Task, WhatAKindNeedsHasToBeThere) {
  Task silent = whole(TaskKind::Tcp);
  silent.sends = silent.receives = false;
  EXPECT_FALSE(task_in(body_of(silent)));
  EXPECT_FALSE(task_in(with(TaskKind::RdmaLatency, "sends", false)));
  EXPECT_FALSE(task_in(with(TaskKind::Loss, "rate_bits_per_s", 0)));
  EXPECT_FALSE(task_in(with(TaskKind::Collective, "bytes", 0)));
  EXPECT_FALSE(task_in(with(TaskKind::Names, "hosts", Json::array())));
  EXPECT_FALSE(task_in(with(TaskKind::Collective, "hosts", {"gpu1", "--key-file=/etc/shadow"})));
  EXPECT_TRUE(task_in(with(TaskKind::Doctor, "peer", "")));
}

TEST(Task, ATaskHasSoManyHostsAndNoMore) {
  const Json most(Json::array_t(kMostHostsInTask, "gpu1"));
  EXPECT_TRUE(task_in(with(TaskKind::Names, "hosts", most)));
  const Json more(Json::array_t(kMostHostsInTask + 1, "gpu1"));
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

}  // namespace
}  // namespace chokepoint::preflight
