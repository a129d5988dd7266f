#include "probe/paths/hops.h"

#include <gtest/gtest.h>

#include <string>

namespace chokepoint::probe::paths {
namespace {

// "1 2", "1 -": the last numbers of routers' addresses, or none.
std::optional<Hops> hops(const std::string& routers) {
  Hops list;
  for (const char router : routers) {
    if (router == '-') {
      list.push_back(std::nullopt);
    } else {
      list.push_back(net::Address::parse(std::string("10.0.0.") + router).value());
    }
  }
  return list;
}

using Flows = std::vector<std::optional<Hops>>;
using Indices = std::vector<std::size_t>;

TEST(Hops, CountPathsByWhatWasSeen) {
  EXPECT_EQ(paths_by_hops(Flows{}), std::nullopt);
  EXPECT_EQ(paths_by_hops(Flows{std::nullopt, hops("")}), std::nullopt);
  EXPECT_EQ(paths_by_hops(Flows{hops("--")}), std::nullopt);
  EXPECT_EQ(paths_by_hops(Flows{hops("12"), hops("12"), std::nullopt}), 1U);
  EXPECT_EQ(paths_by_hops(Flows{hops("12"), hops("13"), hops("1-")}), 2U);
  // What is silent may be any of them.
  EXPECT_EQ(paths_by_hops(Flows{hops("-2"), hops("1-")}), 1U);
  EXPECT_EQ(paths_by_hops(Flows{hops("-2"), hops("-3")}), 2U);
  // Two stages of two.
  EXPECT_EQ(paths_by_hops(Flows{hops("13"), hops("14"), hops("23"), hops("24")}), 4U);
}

TEST(Hops, ARouterThatOnlyTheseFlowsPass) {
  const Flows flows{hops("12"), hops("12"), hops("13"), hops("1-")};
  const auto place = common_hop(flows, Indices{0, 1}, Indices{2, 3});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->ttl, 2);
  EXPECT_EQ(place->address.text(), "10.0.0.2");
}

TEST(Hops, NoRouterWhereOthersPassIt) {
  EXPECT_FALSE(common_hop(Flows{hops("12"), hops("12"), hops("12")}, Indices{0, 1}, Indices{2}));
}

TEST(Hops, NoRouterWhereTooLittleIsKnown) {
  // Of one flow only.
  EXPECT_FALSE(common_hop(Flows{hops("12"), std::nullopt, hops("13")}, Indices{0, 1}, Indices{2}));
  // Nothing of the others.
  EXPECT_FALSE(common_hop(Flows{hops("12"), hops("12"), hops("1-")}, Indices{0, 1}, Indices{2}));
  // They do not agree.
  EXPECT_FALSE(common_hop(Flows{hops("12"), hops("13"), hops("14")}, Indices{0, 1}, Indices{2}));
}

}  // namespace
}  // namespace chokepoint::probe::paths
