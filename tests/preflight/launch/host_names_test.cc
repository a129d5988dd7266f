#include "preflight/launch/host_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::preflight {
namespace {

using testing::HasSubstr;

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
