#include "preflight/commands/names_here.h"

#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

TEST(NamesHere, LoopbackIsRightForTheOwnNameAndLocalhost) {
  for (const char* name : {"gpu1", "gpu1.cluster", "localhost", "localhost.localdomain",
                           "ip6-localhost", "127.0.0.1", "::1"}) {
    EXPECT_TRUE(may_be_loopback(name, "gpu1.rack7")) << name;
  }
  for (const char* name : {"gpu2", "gpu11", "gpu1-mgmt", ""}) {
    EXPECT_FALSE(may_be_loopback(name, "gpu1.rack7")) << name;
  }
}

TEST(NamesHere, WhatLeadsElsewhereStaysAsItIs) {
  const auto addresses = resolve_here("192.0.2.7", {}, "gpu1");
  ASSERT_TRUE(addresses.has_value());
  EXPECT_EQ(addresses->front().text(), "192.0.2.7");
  EXPECT_TRUE(resolve_here("localhost", {}, "gpu1").has_value());
}

}  // namespace
}  // namespace chokepoint::preflight
