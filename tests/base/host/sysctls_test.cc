#include "base/host/sysctls.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Sysctls, AreKnownByTheirNames) {
  const Sysctls sysctls = read_sysctls(fakes::HostTree::from_fixture("wan-small-buffers").root());
  EXPECT_EQ(sysctls.text("net.ipv4.tcp_rmem"), "4096 131072 6291456");
  EXPECT_EQ(sysctls.most("net.ipv4.tcp_rmem"), 6291456);
  EXPECT_EQ(sysctls.number("net.core.rmem_max"), 212992);
  EXPECT_EQ(sysctls.text("net.ipv4.tcp_congestion_control"), "cubic");
}

TEST(Sysctls, WhatIsNotThereOrNoNumberIsNotKnown) {
  const Sysctls sysctls = read_sysctls(fakes::HostTree::from_fixture("wan-small-buffers").root());
  EXPECT_EQ(sysctls.number("net.core.busy_poll"), std::nullopt);
  EXPECT_EQ(sysctls.number("net.ipv4.tcp_congestion_control"), std::nullopt);
  EXPECT_EQ(sysctls.most("net.core.rmem_max"), std::nullopt);
}

TEST(Sysctls, FactsNameTheFile) {
  Facts facts;
  append_facts(Sysctls(host::Sysctls::Values{{"net.core.rmem_max", "212992"}}), facts);
  ASSERT_EQ(facts.size(), 1);
  EXPECT_EQ(facts[0].source, "/proc/sys/net/core/rmem_max");
  EXPECT_EQ(facts[0].value, "212992");
}

}  // namespace
}  // namespace chokepoint::host
