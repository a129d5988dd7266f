// Ranks as processes of their own, with a backend that needs no library (fakes/program.cc).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/control/client.h"
#include "base/sys/clock.h"
#include "base/sys/process.h"
#include "probe/collective/launch/rank_service.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using Variables = std::vector<std::pair<std::string, std::string>>;

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("ranks-" + std::to_string(getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  sys::Process start(const std::string& name, const std::vector<std::string>& arguments,
                     Variables variables = {}) const {
    const auto file = [&](const std::string& end) {
      return sys::Descriptor(
          open((folder_ / (name + end)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    };
    const sys::Descriptor out = file(".out");
    const sys::Descriptor err = file(".err");
    sys::Spawn spawn{.command = {CHOKEPOINT_RANKS, "probe", "collective"},
                     .environment = std::move(variables),
                     .out = out.get(),
                     .err = err.get()};
    spawn.command.insert(spawn.command.end(), arguments.begin(), arguments.end());
    return std::move(sys::Process::start(spawn).value());
  }

  std::string text(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // As torchrun has them.
  static Variables rank(int rank, int ranks, int port) {
    return {{"RANK", std::to_string(rank)},
            {"WORLD_SIZE", std::to_string(ranks)},
            {"MASTER_ADDR", "127.0.0.1"},
            {"MASTER_PORT", std::to_string(port)}};
  }

  // Ended, or gone with whoever started it.
  static bool ends(pid_t pid) {
    for (int i = 0; i < 200 && kill(pid, 0) == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(50));
    }
    return kill(pid, 0) != 0;
  }

  std::vector<pid_t> await_children(pid_t pid, std::size_t count) const {
    std::vector<pid_t> children;
    for (int i = 0; i < 200 && children.size() < count; ++i) {
      std::this_thread::sleep_for(milliseconds(50));
      children = sys::descendants(pid, sys::Root("/"));
    }
    return children;
  }

  std::filesystem::path folder_;
};

int own_port() { return 20'000 + getpid() % 20'000; }

TEST_F(Processes, StartThemselvesAndOneDocumentIsPrinted) {
  sys::Process job = start("job", {"--local", "3", "--bytes", "64,1K", "--iterations", "3",
                                   "--json", "--collective", "reduce-scatter", "--type", "bf16"});
  EXPECT_EQ(job.wait()->code, 0) << text("job.err");
  const auto document = nlohmann::json::parse(text("job.out"), nullptr, false);
  ASSERT_TRUE(document.is_object()) << text("job.out");
  EXPECT_EQ(document["schema"], "chokepoint.collective/1");
  EXPECT_EQ(document["ranks"], 3);
  EXPECT_EQ(document["members"].size(), 3U);
  ASSERT_EQ(document["sizes"].size(), 2U);
  EXPECT_EQ(document["sizes"][0]["bytes"], 66);
  EXPECT_EQ(document["sizes"][0]["checked"], true);
  EXPECT_EQ(document["sizes"][0]["time_us"]["count"], 3);
  EXPECT_EQ(text("job.err"), "");
}

TEST_F(Processes, RanksOfALauncherMeetAtRank0WhichAlonePrints) {
  std::vector<sys::Process> ranks;
  for (int i = 2; i >= 0; --i) {
    ranks.push_back(
        start(std::to_string(i), {"--bytes", "64", "--iterations", "2"}, rank(i, 3, own_port())));
  }
  for (sys::Process& each : ranks) {
    EXPECT_EQ(each.wait()->code, 0);
  }
  EXPECT_THAT(text("0.out"), HasSubstr("3 ranks on 1 host"));
  for (const std::string name : {"0.err", "1.out", "1.err", "2.out", "2.err"}) {
    EXPECT_EQ(text(name), "") << name;
  }
}

TEST_F(Processes, RanksThatDoNotComeAreNamed) {
  sys::Process first = start("0", {"--timeout", "1"}, rank(0, 4, own_port() + 100));
  sys::Process third = start("2", {"--timeout", "20"}, rank(2, 4, own_port() + 100));
  EXPECT_EQ(first.wait()->code, 1);
  EXPECT_EQ(third.wait()->code, 1);
  EXPECT_THAT(text("0.err"), HasSubstr("ranks 1 and 3 of 4: did not come within 1 s"));
}

TEST_F(Processes, WrongDataAreAFailureThatSaysWhere) {
  sys::Process job =
      start("job", {"--local", "2", "--bytes", "64", "--iterations", "1", "--algorithm", "damage"});
  EXPECT_EQ(job.wait()->code, 1);
  EXPECT_THAT(text("job.out"), HasSubstr("rank 1 has"));
  EXPECT_THAT(text("job.out"), HasSubstr("at byte 60"));
}

TEST_F(Processes, TooLittleBandwidthIsFound) {
  sys::Process job = start("job", {"--local", "2", "--bytes", "64", "--iterations", "1",
                                   "--min-busbw", "1e9", "--json"});
  EXPECT_EQ(job.wait()->code, 3);
  EXPECT_THAT(text("job.out"), HasSubstr("\"missed\": [\n    \"bus bandwidth of"));
}

TEST_F(Processes, OneRanksFailureIsToldOnceAndEndsAll) {
  for (const std::string trouble : {"fail", "vanish"}) {
    sys::Process job = start(trouble, {"--local", "3", "--bytes", "64", "--algorithm", trouble});
    EXPECT_EQ(job.wait()->code, 1);
    EXPECT_THAT(text(trouble + ".err"), HasSubstr("rank 1 on "));
    EXPECT_THAT(text(trouble + ".err"), Not(HasSubstr("rank 0 on ")));
  }
}

TEST_F(Processes, ARankThatHangsLeavesNobodyBehind) {
  sys::Process job =
      start("job", {"--local", "2", "--bytes", "64", "--algorithm", "hang", "--timeout", "60"});
  const std::vector<pid_t> ranks = await_children(job.pid(), 2);
  ASSERT_EQ(ranks.size(), 2U);
  std::this_thread::sleep_for(milliseconds(300));
  ASSERT_TRUE(job.signal(SIGINT));
  EXPECT_EQ(job.wait()->code, 130);
  EXPECT_TRUE(ends(ranks[0]));
  EXPECT_TRUE(ends(ranks[1]));
}

TEST_F(Processes, InterruptedItTellsWhatWasMeasured) {
  // Some sizes are measured by then, however slow this host is, and never all.
  sys::Process job = start(
      "job", {"--local", "2", "--bytes", "64..64K", "--factor", "1.1", "--time", "0.3", "--json"});
  std::this_thread::sleep_for(milliseconds(4500));
  ASSERT_TRUE(job.signal(SIGINT));
  EXPECT_EQ(job.wait()->code, 130);
  const auto document = nlohmann::json::parse(text("job.out"), nullptr, false);
  ASSERT_TRUE(document.is_object()) << text("job.out");
  EXPECT_EQ(document["interrupted"], true);
  EXPECT_GE(document["sizes"].size(), 1U);
}

TEST_F(Processes, RanksEndWithWhoLeadsThem) {
  sys::Process job = start("job", {"--local", "2", "--bytes", "64", "--time", "60"});
  const std::vector<pid_t> ranks = await_children(job.pid(), 2);
  ASSERT_EQ(ranks.size(), 2U);
  kill(job.pid(), SIGKILL);
  std::ignore = job.wait();
  EXPECT_TRUE(ends(ranks[0]));
  EXPECT_TRUE(ends(ranks[1]));
}

TEST_F(Processes, RanksWhoseLeaderIsKilledSaySo) {
  for (const std::string trouble : {"none", "hang"}) {
    const int port = own_port() + 200;
    const std::vector<std::string> wanted{"--bytes", "64", "--time", "60", "--algorithm", trouble};
    sys::Process first = start("0" + trouble, wanted, rank(0, 2, port));
    sys::Process second = start("1" + trouble, wanted, rank(1, 2, port));
    std::this_thread::sleep_for(milliseconds(2000));
    kill(first.pid(), SIGKILL);
    std::ignore = first.wait();
    EXPECT_EQ(second.wait()->code, 1);
    EXPECT_THAT(text("1" + trouble + ".err"), HasSubstr("ended without a word")) << trouble;
  }
}

TEST_F(Processes, RanksWhoseLeaderIsInterruptedAreSilent) {
  sys::Process first = start("0", {"--bytes", "64", "--time", "60"}, rank(0, 2, own_port() + 300));
  sys::Process second = start("1", {"--bytes", "64", "--time", "60"}, rank(1, 2, own_port() + 300));
  std::this_thread::sleep_for(milliseconds(2000));
  ASSERT_TRUE(first.signal(SIGINT));
  EXPECT_EQ(first.wait()->code, 130);
  EXPECT_EQ(second.wait()->code, 1);
  EXPECT_EQ(text("1.err"), "");
}

control::Services services() {
  control::Services services;
  services.push_back(rank_service(CHOKEPOINT_RANKS));
  return services;
}

TEST_F(Processes, ServersOfOtherHostsStartThem) {
  const fakes::ProbeServer one(services());
  const fakes::ProbeServer two(services());
  const std::string hosts = "127.0.0.1:" + std::to_string(one.endpoint().port) +
                            ",127.0.0.1:" + std::to_string(two.endpoint().port);
  sys::Process job = start("job", {"--hosts", hosts, "--ranks-per-host", "2", "--bytes", "64",
                                   "--iterations", "2", "--json"});
  EXPECT_EQ(job.wait()->code, 0) << text("job.err");
  EXPECT_EQ(nlohmann::json::parse(text("job.out"), nullptr, false)["ranks"], 4);
}

TEST_F(Processes, WhatAServerStartedEndsWithItsClient) {
  const fakes::ProbeServer server(services());
  sys::Process job = start("job", {"--hosts", "127.0.0.1:" + std::to_string(server.endpoint().port),
                                   "--ranks-per-host", "2", "--bytes", "64", "--time", "60"});
  const std::vector<pid_t> ranks = [&] {
    std::vector<pid_t> all;
    for (int i = 0; i < 200 && all.size() < 3; ++i) {
      std::this_thread::sleep_for(milliseconds(50));
      all = sys::descendants(getpid(), sys::Root("/"));
    }
    std::erase(all, job.pid());
    return all;
  }();
  ASSERT_EQ(ranks.size(), 2U);
  kill(job.pid(), SIGKILL);
  std::ignore = job.wait();
  EXPECT_TRUE(ends(ranks[0]));
  EXPECT_TRUE(ends(ranks[1]));
}

TEST(RankService, StartsNothingButRanks) {
  const std::unique_ptr<control::Service> service = rank_service();
  const RanksWanted good{
      .options = {.backend = "gloo"}, .job = "j", .port = 4711, .ranks = 2, .count = 2};
  EXPECT_TRUE(service->check(body_of(good), {}));
  const auto with = [&](const char* name, control::Json value) {
    control::Json body = body_of(good);
    body[name] = std::move(value);
    return body;
  };
  for (const control::Json& bad :
       {with("backend", "gloo --json"), with("interface", "-x"), with("interface", "a b"),
        with("algorithm", "$(id)"), with("algorithm", std::string(65, 'a')), with("count", 65),
        with("count", 3), with("port", 0), with("first", 1), with("secret", "beef"),
        with("timeout_s", 999'999), with("gpu", "0;"), with("share", true)}) {
    EXPECT_FALSE(service->check(bad, {})) << bad;
  }
  EXPECT_FALSE(service->check(body_of(good), {.streams = 1}));
  EXPECT_EQ(body_of(good).dump(),
            R"({"backend":"gloo","interface":"","algorithm":"","gpu":null,"timeout_s":60,)"
            R"("job":"j","secret":")" +
                std::string(64, '0') + R"(","port":4711,"ranks":2,"first":0,"count":2})");
}

TEST(RankService, TheEndOfARankIsChecked) {
  const control::Json good{{"rank", 3}, {"code", 137}, {"signal", 9}, {"words", "no memory"}};
  const auto end = child_end_in(good);
  ASSERT_TRUE(end) << describe(end.error());
  EXPECT_EQ(end->rank, 3);
  EXPECT_EQ(end->status, (sys::ExitStatus{.code = 137, .signal = 9}));
  EXPECT_EQ(end->words, "no memory");
  for (const auto& [name, value] : {std::pair<const char*, control::Json>{"rank", -1},
                                    {"code", "0"},
                                    {"signal", 1025},
                                    {"words", std::string(1501, 'x')},
                                    {"words", nullptr}}) {
    control::Json bad = good;
    bad[name] = value;
    EXPECT_FALSE(child_end_in(bad)) << bad;
  }
}

}  // namespace
}  // namespace chokepoint::probe::collective
