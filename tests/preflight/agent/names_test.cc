// Names, the task that asks the resolver: a part of jobs.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "preflight/agent/jobs.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;

Json wait(Names& names) {
  while (true) {
    const Result<std::optional<Json>> looked = names.look();
    if (looked.value()) {
      return **looked;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
}

Names::LookupCount none() { return std::make_shared<std::atomic<std::size_t>>(0); }

Names::Answer answer(const std::string& name) {
  if (name == "nowhere") {
    return fail(ErrorKind::NotFound, "resolve", name, "Name or service not known");
  }
  return std::vector{net::Address::parse("10.0.0.1").value(), net::Address::parse("::1").value()};
}

TEST(Names, EachHasItsAddressesOrAnErrorInTheOrderAsked) {
  Names names({"a", "nowhere", "b"}, seconds(60), answer, none());
  const Json document = wait(names);
  EXPECT_EQ(document["schema"], kNamesSchema);
  ASSERT_EQ(document["answers"].size(), 3U);
  EXPECT_EQ(document["answers"][0]["name"], "a");
  EXPECT_EQ(document["answers"][0]["addresses"], Json({"10.0.0.1", "::1"}));
  EXPECT_TRUE(document["answers"][0]["error"].is_null());
  EXPECT_EQ(document["answers"][1]["addresses"], Json::array());
  EXPECT_EQ(document["answers"][1]["error"]["kind"], "not_found");
  EXPECT_EQ(document["answers"][2]["name"], "b");
}

TEST(Names, ManyAreAskedSomeAtATime) {
  const auto at_once = std::make_shared<std::atomic<int>>(0);
  const auto most = std::make_shared<std::atomic<int>>(0);
  Names names(
      std::vector<std::string>(512, "a"), seconds(60),
      [=](const std::string& name) {
        *most = std::max(most->load(), ++*at_once);
        std::this_thread::sleep_for(milliseconds(1));
        --*at_once;
        return answer(name);
      },
      none());
  EXPECT_EQ(wait(names)["answers"].size(), 512U);
  EXPECT_LE(*most, 16);
}

TEST(Names, WhatIsNotAnsweredInTimeIsToldSo) {
  // Held for longer than the names are waited for, and let go at the end.
  const auto let_go = std::make_shared<std::atomic<bool>>(false);
  Names names(
      std::vector<std::string>(40, "slow"), milliseconds(50),
      [=](const std::string& name) {
        while (!*let_go) {
          std::this_thread::sleep_for(milliseconds(1));
        }
        return answer(name);
      },
      none());
  const Json document = wait(names);
  *let_go = true;
  ASSERT_EQ(document["answers"].size(), 40U);
  EXPECT_EQ(document["answers"][0]["error"]["kind"], "timeout");
  EXPECT_EQ(document["answers"][39]["error"]["kind"], "timeout");
  EXPECT_EQ(document["answers"][39]["name"], "slow");
}

TEST(Names, OneThatHangsHoldsUpNoOther) {
  const auto let_go = std::make_shared<std::atomic<bool>>(false);
  Names names(
      {"slow", "a"}, milliseconds(200),
      [=](const std::string& name) {
        while (name == "slow" && !*let_go) {
          std::this_thread::sleep_for(milliseconds(1));
        }
        return answer(name);
      },
      none());
  const Json document = wait(names);
  *let_go = true;
  EXPECT_EQ(document["answers"][0]["error"]["kind"], "timeout");
  EXPECT_EQ(document["answers"][1]["addresses"].size(), 2U);
}

TEST(Names, WhatTasksLeaveBehindDoesNotPileUp) {
  const auto let_go = std::make_shared<std::atomic<bool>>(false);
  const Names::LookupCount lookups = none();
  const Names::Resolve held = [=](const std::string& name) {
    while (!*let_go) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return answer(name);
  };
  const std::vector<std::string> hosts(512, "slow");
  for (int task = 0; task < 20; ++task) {
    EXPECT_FALSE(Names(hosts, seconds(60), held, lookups).look().value());
  }
  EXPECT_EQ(*lookups, Names::kMaxLookups);
  Names last({"a"}, seconds(60), answer, lookups);
  EXPECT_FALSE(last.look().value());
  *let_go = true;
  EXPECT_EQ(wait(last)["answers"][0]["addresses"].size(), 2U);
}

TEST(Names, AddressesAreNamesOfThemselves) {
  Names names({"127.0.0.1", "::1"}, seconds(60), system_resolver(), none());
  const Json document = wait(names);
  EXPECT_EQ(document["answers"][0]["addresses"], Json({"127.0.0.1"}));
  EXPECT_EQ(document["answers"][1]["addresses"], Json({"::1"}));
}

}  // namespace
}  // namespace chokepoint::preflight
