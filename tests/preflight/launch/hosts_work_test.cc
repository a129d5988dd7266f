#include "preflight/launch/hosts_work.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/sys/clock.h"
#include "base/sys/root.h"
#include "tests/preflight/launch/fake_hosts.h"

namespace chokepoint::preflight {
namespace {

namespace fs = std::filesystem;
using made::comes;
using made::FakeHosts;
using made::kAgent;
using made::kOld;
using made::text_of;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class Hosts : public testing::Test {
 protected:
  std::unique_ptr<Launch> launch(LaunchWanted wanted, const fs::path& own = "/nowhere/chokepoint") {
    wanted.port = 5210;
    wanted.key = "the key";
    wanted.report = [this](const std::string& words) { reported_.push_back(words); };
    return LaunchThread::start(std::make_unique<HostsWork>(launch_method_of(Launcher::Ssh), wanted,
                                                           own, clock_, root_),
                               wanted, clock_)
        .value();
  }

  bool begins(const std::string& host) {
    return comes([&] { return fs::exists(hosts_.at(host + "/begun")); });
  }
  bool goes(const std::string& host) {
    return comes([&] { return fs::exists(hosts_.at(host + "/gone")); });
  }
  static Error trouble(Launch& launch, std::size_t host) {
    std::optional<Error> error;
    comes([&] { return (error = launch.trouble(host)).has_value(); });
    return error.value_or(Error{});
  }

  FakeHosts hosts_;
  sys::SystemClock clock_;
  sys::Root root_;
  std::vector<std::string> reported_;
};

TEST_F(Hosts, AgentsHaveTheKeyFromStandardInputAndGoWithTheLaunch) {
  for (const char* name : {"a", "b"}) {
    hosts_.add(name, kAgent);
  }
  auto launched = launch({.hosts = {"a", "b"}});
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(begins(name));
    EXPECT_THAT(text_of(hosts_.at(name) / "begun"),
                EndsWith("serve --leash --quiet --port 5210 the key\n"));
    EXPECT_FALSE(fs::exists(hosts_.at(name) / "gone"));
  }
  EXPECT_EQ(launched->trouble(0), std::nullopt);
  launched.reset();
  EXPECT_TRUE(goes("a"));
  EXPECT_TRUE(goes("b"));
}

TEST_F(Hosts, AHostThatRefusesIsToldByItsLastWords) {
  hosts_.add("b", kAgent);
  const auto launched = launch({.hosts = {"mallory", "b"}});
  const Error error = trouble(*launched, 0);
  EXPECT_EQ(describe(error),
            "ssh: mallory: mallory: Permission denied (publickey).; 'ssh mallory' has to work "
            "without a password: ssh-copy-id mallory");
  EXPECT_EQ(error.kind, ErrorKind::Permission);
  EXPECT_TRUE(begins("b"));
}

TEST_F(Hosts, WhatAnAgentSaidBeforeItEndedIsKept) {
  hosts_.add("a", kAgent);
  hosts_.touch("a/broken");
  const auto launched = launch({.hosts = {"a"}});
  EXPECT_EQ(describe(trouble(*launched, 0)),
            "ssh: a: serve: port 5210: in use; is it there twice?");
}

TEST_F(Hosts, AProgramThatIsNamedIsTheOne) {
  hosts_.add("a", kOld);
  made::program(hosts_.at("it's here/chokepoint"), kAgent);
  const auto launched =
      launch({.hosts = {"a"}, .program = hosts_.at("it's here/chokepoint").string()});
  ASSERT_TRUE(begins("a"));
  EXPECT_THAT(text_of(hosts_.at("a/begun")), HasSubstr("it's here/chokepoint serve --leash"));
}

TEST_F(Hosts, WhereNoneIsAndNoneCanBeCopiedItIsSaidWhatToDo) {
  hosts_.add("none");
  hosts_.add("old", kOld);
  const auto launched = launch({.hosts = {"none", "old"}});
  for (const std::size_t host : {0U, 1U}) {
    EXPECT_THAT(describe(trouble(*launched, host)), HasSubstr("--copy FILE"));
  }
}

TEST_F(Hosts, AReleaseIsCopiedOnceToWhereNoneIs) {
  hosts_.add("none");
  hosts_.add("old", kOld);
  const std::string release = hosts_.release().string();
  auto launched = launch({.hosts = {"none", "old"}, .copy = release, .version = "1"});
  ASSERT_TRUE(begins("none"));
  ASSERT_TRUE(begins("old"));
  EXPECT_THAT(text_of(hosts_.at("none/begun")), HasSubstr("/.cache/chokepoint/agents/1-"));
  launched->trouble(0);
  EXPECT_THAT(reported_, testing::Contains("copying chokepoint to none"));
  launched.reset();

  fs::remove(hosts_.at("none/begun"));
  reported_.clear();
  launched = launch({.hosts = {"none"}, .copy = release, .version = "1"});
  ASSERT_TRUE(begins("none"));
  launched->trouble(0);
  EXPECT_THAT(reported_, IsEmpty());
}

TEST_F(Hosts, AnotherContentIsAnotherCopy) {
  hosts_.add("none");
  const std::string release = hosts_.release().string();
  auto launched = launch({.hosts = {"none"}, .copy = release});
  ASSERT_TRUE(begins("none"));
  launched.reset();
  made::program(release, std::string(kAgent) + "# another");
  fs::remove(hosts_.at("none/begun"));
  launched = launch({.hosts = {"none"}, .copy = release});
  ASSERT_TRUE(begins("none"));
  const fs::directory_iterator copies(hosts_.at("none/.cache/chokepoint/agents"));
  EXPECT_EQ(std::distance(begin(copies), end(copies)), 2);
}

TEST_F(Hosts, AFileThatIsNoProgramIsToldAndLeavesNothing) {
  hosts_.add("none");
  made::program(hosts_.at("broken"), "exit 1");
  const auto launched = launch({.hosts = {"none"}, .copy = hosts_.at("broken").string()});
  EXPECT_THAT(describe(trouble(*launched, 0)), EndsWith("install it there"));
  EXPECT_TRUE(fs::is_empty(hosts_.at("none/.cache/chokepoint/agents")));
}

TEST_F(Hosts, WhatIsStuckIsEndedWithTheLaunch) {
  hosts_.add("a");
  hosts_.touch("a/stuck");
  auto launched = launch({.hosts = {"a"}});
  ASSERT_TRUE(comes([&] { return fs::exists(hosts_.at("a/pid")); }));
  const pid_t sleeper = std::stoi(text_of(hosts_.at("a/pid")));
  EXPECT_EQ(kill(sleeper, 0), 0);
  launched.reset();  // It ignores its standard input.
  EXPECT_NE(kill(sleeper, 0), 0);
}

TEST_F(Hosts, ManyHostsAllStart) {
  std::vector<std::string> names;
  for (int i = 0; i < 150; ++i) {
    names.push_back(fmt::format("n{}", i));
    hosts_.add(names.back(), kAgent);
  }
  const auto launched = launch({.hosts = names});
  for (const std::string& name : names) {
    ASSERT_TRUE(begins(name)) << name;
  }
}

}  // namespace

}  // namespace chokepoint::preflight
