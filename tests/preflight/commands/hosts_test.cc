#include <gtest/gtest.h>

#include "preflight/commands/preflight.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::preflight {
namespace {

using Texts = std::vector<std::string>;

const cli::Environment kNothing = [](const std::string&) { return std::nullopt; };

Texts words_of(const Result<std::vector<coordinator::HostWanted>>& hosts) {
  Texts words;
  for (const coordinator::HostWanted& host : hosts.value()) {
    words.push_back(host.name + " " + std::to_string(host.port));
  }
  return words;
}

Error mistake(const HostFlags& flags) {
  const Result<std::vector<coordinator::HostWanted>> hosts = wanted_hosts(flags, kNothing);
  EXPECT_FALSE(hosts);
  return hosts ? Error{} : hosts.error();
}

TEST(WantedHosts, names_addresses_ports_and_lists) {
  EXPECT_EQ(words_of(wanted_hosts({.hosts = {"a", "b:5211", "10.0.0.3", "10.0.0.4:5212", "fd00::1",
                                             "[fd00::2]:5213", "gpu[08-10],x:5214"}},
                                  kNothing)),
            (Texts{"a 5210", "b 5211", "10.0.0.3 5210", "10.0.0.4 5212", "fd00::1 5210",
                   "fd00::2 5213", "gpu08 5214", "gpu09 5214", "gpu10 5214", "x 5214"}));
}

TEST(WantedHosts, a_user_is_no_part_of_the_name) {
  const auto hosts = wanted_hosts(
      {.hosts = {"root@a", "me@gpu[1-2]:5211", "me@10.0.0.3", "me@fd00::1", "b"}}, kNothing);
  EXPECT_EQ(words_of(hosts),
            (Texts{"a 5210", "gpu1 5211", "gpu2 5211", "10.0.0.3 5210", "fd00::1 5210", "b 5210"}));
  Texts users;
  for (const coordinator::HostWanted& host : hosts.value()) {
    users.push_back(host.user);
  }
  EXPECT_EQ(users, (Texts{"root", "me", "me", "me", "me", ""}));
  EXPECT_EQ(mistake({.hosts = {"root@a", "b", "me@a"}}).reason, "a is named twice");
  EXPECT_EQ(mistake({.hosts = {"root@", "b"}}).reason, "not a host");
}

TEST(WantedHosts, of_the_slurm_job_where_none_are_named) {
  const cli::Environment job = [](const std::string& name) -> std::optional<std::string> {
    return name == "SLURM_JOB_NODELIST" ? std::optional<std::string>("n[1-3]") : std::nullopt;
  };
  EXPECT_EQ(words_of(wanted_hosts({.port = 5300}, job)), (Texts{"n1 5300", "n2 5300", "n3 5300"}));
  EXPECT_EQ(words_of(wanted_hosts({.hosts = {"a", "b"}}, job)), (Texts{"a 5210", "b 5210"}));
}

TEST(WantedHosts, of_a_file) {
  const fakes::TemporaryFile file("# rack 1\na slots=8\n\n  b:5211 # the new one\nc[1-2]\n");
  EXPECT_EQ(words_of(wanted_hosts({.file = file.path()}, kNothing)),
            (Texts{"a 5210", "b 5211", "c1 5210", "c2 5210"}));
}

TEST(WantedHosts, mistakes_are_told_in_a_line) {
  EXPECT_EQ(mistake({}).kind, ErrorKind::Usage);
  EXPECT_EQ(mistake({.hosts = {"a"}}).reason, "a is the only host that is named");
  EXPECT_EQ(mistake({.hosts = {"a", "b", "a"}}).reason, "a is named twice");
  EXPECT_EQ(mistake({.hosts = {"a", "a:5210"}}).reason, "a is named twice");
  EXPECT_EQ(mistake({.hosts = {"gpu[1-"}}).kind, ErrorKind::Usage);
  EXPECT_EQ(mistake({.hosts = {"a:99999", "b"}}).kind, ErrorKind::Usage);
  EXPECT_EQ(mistake({.file = "/nowhere/hosts"}).kind, ErrorKind::NotFound);
}

TEST(WantedHosts, one_host_may_have_agents_at_two_ports) {
  EXPECT_EQ(wanted_hosts({.hosts = {"a:1", "a:2"}}, kNothing)->size(), 2U);
}

}  // namespace
}  // namespace chokepoint::preflight
