#include "probe/host/examine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {
namespace {

TEST(Examine, AHostAsItShouldBeHasNothingToMend) {
  const fakes::HostTree tree = fakes::HostTree::from_fixture("healthy");
  for (const Check& check : examine(host::read_inventory(tree.root()))) {
    EXPECT_LE(check.status, Status::Info) << check.id << ' ' << check.subject << ": " << check.why;
  }
}

TEST(Examine, WhatMattersAndCannotBeReadIsUnknownNeverWrong) {
  const fakes::HostTree tree = fakes::HostTree::from_text("");
  const Checks checks = examine(host::read_inventory(tree.root()));
  EXPECT_FALSE(checks.empty());
  EXPECT_EQ(worst(checks), Status::Unknown);
}

TEST(Examine, EveryFindingHasAReasonAndASubject) {
  for (const char* fixture :
       {"wan-small-buffers", "dual-stack-loopback-name", "gpu-gen2-load", "roce-link-local-gid"}) {
    const fakes::HostTree tree = fakes::HostTree::from_fixture(fixture);
    for (const Check& check : examine(host::read_inventory(tree.root()))) {
      EXPECT_FALSE(check.subject.empty()) << check.id;
      EXPECT_FALSE(check.why.empty()) << check.id;
      EXPECT_TRUE(check.status < Status::Warning || !check.next_step.empty()) << check.id;
    }
  }
}

}  // namespace
}  // namespace chokepoint::probe
