#include "preflight/launch/hosts.h"

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
    wanted.tell = [this](const std::string& words) { told_.push_back(words); };
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
  std::vector<std::string> told_;
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
    EXPECT_THAT(describe(trouble(*launched, host)), HasSubstr("--tarball FILE"));
  }
}

TEST_F(Hosts, ThisInstallationIsCopiedOnceToWhereNoneIs) {
  hosts_.add("none");
  hosts_.add("old", kOld);
  const fs::path own = hosts_.installation();
  auto launched = launch({.hosts = {"none", "old"}, .version = "1"}, own);
  ASSERT_TRUE(begins("none"));
  ASSERT_TRUE(begins("old"));
  EXPECT_THAT(text_of(hosts_.at("none/begun")), HasSubstr("/.cache/chokepoint/agents/1-"));
  launched->trouble(0);
  EXPECT_THAT(told_, testing::Contains("copying chokepoint to none"));
  launched.reset();

  fs::remove(hosts_.at("none/begun"));
  told_.clear();
  launched = launch({.hosts = {"none"}, .version = "1"}, own);
  ASSERT_TRUE(begins("none"));
  launched->trouble(0);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(Hosts, AnotherContentIsAnotherCopy) {
  hosts_.add("none");
  const fs::path own = hosts_.installation();
  auto launched = launch({.hosts = {"none"}}, own);
  ASSERT_TRUE(begins("none"));
  launched.reset();
  made::program(own.parent_path().parent_path() / "lib/libfoo.so.1", "another");
  fs::remove(hosts_.at("none/begun"));
  launched = launch({.hosts = {"none"}}, own);
  ASSERT_TRUE(begins("none"));
  const fs::directory_iterator copies(hosts_.at("none/.cache/chokepoint/agents"));
  EXPECT_EQ(std::distance(begin(copies), end(copies)), 2);
}

TEST_F(Hosts, ATarballThatIsNoneIsToldAndLeavesNothing) {
  hosts_.add("none");
  hosts_.touch("empty.tar.gz");
  const auto launched = launch({.hosts = {"none"}, .tarball = hosts_.at("empty.tar.gz").string()});
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

std::string why(std::initializer_list<std::string_view> lines) {
  LauncherOutput output;
  for (const std::string_view line : lines) {
    output.add(line);
  }
  return describe(output.why("ssh", "gpu1", {.code = 255}));
}

TEST(LauncherOutput, TheLastWordsCount) {
  EXPECT_EQ(why({"welcome to gpu1", "it all went wrong\r", "  \r"}),
            "ssh: gpu1: it all went wrong");
}

TEST(LauncherOutput, KnownWordsCountMoreThanLaterOnesAndHaveANextStep) {
  EXPECT_EQ(why({"ssh: connect to host gpu1 port 22: Connection refused\r", "goodbye"}),
            "ssh: gpu1: connect to host gpu1 port 22: Connection refused; does sshd run there?");
  EXPECT_EQ(why({"chokepoint: serve: no", "Connection to gpu1 closed."}), "ssh: gpu1: serve: no");
}

TEST(LauncherOutput, SomeWordsAreTheLast) {
  LauncherOutput output;
  output.add("srun: Job 100 step creation temporarily disabled, retrying");
  EXPECT_FALSE(output.is_over());
  output.add(
      "srun: error: Task launch for StepId=100.0 failed on node gpu1: Communication failure");
  EXPECT_TRUE(output.is_over());
}

TEST(LauncherOutput, SilenceLeavesTheExitStatus) {
  EXPECT_EQ(why({}), "ssh: gpu1: the agent ended, exit status 255");
}

TEST(LauncherOutput, OneLineStaysOneLineThatMovesNoCursor) {
  EXPECT_EQ(why({"red \x1b[31m\xff"}), "ssh: gpu1: red ·[31m·");
  EXPECT_LT(why({std::string(10000, 'x')}).size(), 400U);
}

TEST(Names, OfHostsPass) {
  EXPECT_TRUE(check_names({"gpu1", "root@gpu-2.site", "10.0.0.1", "fe80::1%eth0", "my_alias"}));
}

TEST(Names, WhatAShellOrAnOptionCouldBeIsRefused) {
  for (const std::string name : {"-oProxyCommand=x", "a b", "a;b", "$(b)", "`b`", "a'b", "a\nb", "",
                                 "a,b", "u@", "u@-x", "a/b", "a\\b", "[a]", "a\xff"}) {
    const Result<> checked = check_names({"fine", name});
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().kind, ErrorKind::Usage);
  }
  EXPECT_THAT(describe(check_names({"a\x1b[31m"}).error()), HasSubstr("'a·[31m'"));
  EXPECT_FALSE(check_names({std::string(256, 'a')}));
}

TEST(Names, ThisHostIsKnownByItsNamesAndAddresses) {
  host::Addresses own;
  own.addresses = {{"eth0", net::Address::parse("10.0.0.7").value()}};
  for (const std::string name :
       {"gpu7", "gpu7.site", "localhost", "10.0.0.7", "127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_TRUE(is_this_host(name, "gpu7.site", own)) << name;
  }
  for (const std::string name : {"gpu", "gpu8", "root@gpu7", "10.0.0.8", ""}) {
    EXPECT_FALSE(is_this_host(name, "gpu7.site", own)) << name;
  }
  EXPECT_FALSE(is_this_host("10.0.0.7", "gpu7", {}));
}

}  // namespace

}  // namespace chokepoint::preflight
