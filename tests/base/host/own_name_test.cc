// A host's own name, of the running host and of a copy of it: part of inventory.cc.
#include <gtest/gtest.h>

#include "base/host/inventory.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

class AnswersWith : public Resolver {
 public:
  explicit AnswersWith(Result<std::vector<net::Address>> answer) : answer_(std::move(answer)) {}
  Result<std::vector<net::Address>> resolve(const std::string& /*name*/) override {
    return answer_;
  }

 private:
  Result<std::vector<net::Address>> answer_;
};

TEST(OwnName, ACopyAsksItsHostsFile) {
  const OwnName own =
      read_own_name(fakes::HostTree::from_fixture("dual-stack-loopback-name").root());
  EXPECT_EQ(own.name, "node1");
  ASSERT_EQ(own.addresses->size(), 1);
  EXPECT_EQ(own.addresses->at(0).text(), "127.0.1.1");
}

TEST(OwnName, ANameThatACopyDoesNotListIsNotKnown) {
  const OwnName own = read_own_name(
      fakes::HostTree::from_text("/etc/hostname = node2\n/etc/hosts = 127.0.0.1 localhost\n")
          .root());
  EXPECT_EQ(own.name, "node2");
  EXPECT_FALSE(own.addresses);
  EXPECT_EQ(own.error->kind, ErrorKind::Unsupported);
}

TEST(OwnName, ANameThatLeadsNowhereHasNoAddresses) {
  AnswersWith nobody(fail(ErrorKind::NotFound, "resolve", "node3", "unknown"));
  const OwnName own =
      read_own_name(fakes::HostTree::from_text("/etc/hostname = node3\n").root(), nobody);
  ASSERT_TRUE(own.addresses);
  EXPECT_TRUE(own.addresses->empty());
}

TEST(OwnName, ADeadNameServerLeavesTheAddressesNotKnown) {
  AnswersWith silence(fail(ErrorKind::Timeout, "resolve", "node3", "no answer"));
  const OwnName own =
      read_own_name(fakes::HostTree::from_text("/etc/hostname = node3\n").root(), silence);
  EXPECT_FALSE(own.addresses);
  EXPECT_EQ(own.error->kind, ErrorKind::Timeout);
}

TEST(OwnName, TheKernelsNameComesFirst) {
  AnswersWith nothing(std::vector<net::Address>{});
  const auto tree = fakes::HostTree::from_text(
      "/etc/hostname = configured\n/proc/sys/kernel/hostname = running\n");
  EXPECT_EQ(read_own_name(tree.root(), nothing).name, "running");
}

}  // namespace
}  // namespace chokepoint::host
