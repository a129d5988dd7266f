// The choice of devices and the text of bytes: over gloo.cc and communicator.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/collective/communicator.h"
#include "probe/collective/gloo/gloo.h"

namespace chokepoint::probe::collective {
namespace {

using testing::HasSubstr;

net::Address address(std::string_view text) { return net::Address::parse(text).value(); }

NameLookup lookup(const std::vector<net::Address>& addresses, const std::string& own) {
  return {.name = "node1",
          .addresses = [addresses] { return addresses; },
          .is_own = [own](const net::Address& each) { return each.text() == own; }};
}

TEST(GlooDevices, AreThoseThatAreNamed) {
  const auto chosen = choose_gloo_devices("lo,127.0.0.2,::1", lookup({}, ""));
  ASSERT_TRUE(chosen) << describe(chosen.error());
  ASSERT_EQ(chosen->devices.size(), 3U);
  EXPECT_EQ(chosen->devices[0].interface, "lo");
  EXPECT_EQ(chosen->devices[1].address, "127.0.0.2");
  EXPECT_EQ(chosen->devices[2].address, "::1");
  EXPECT_EQ(chosen->remark, "");
}

TEST(GlooDevices, DoNotTakeTheSyntaxOfNccl) {
  const auto chosen = choose_gloo_devices("^docker0", lookup({}, ""));
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, ErrorKind::Usage);
  EXPECT_THAT(chosen.error().reason, HasSubstr("exact names"));
}

TEST(GlooDevices, AreInterfacesOfThisHost) {
  const auto chosen = choose_gloo_devices("nosuch0", lookup({}, ""));
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, ErrorKind::NotFound);
}

TEST(GlooDevices, AreOtherwiseTheFirstOwnAddressOfTheHostsName) {
  const auto chosen =
      choose_gloo_devices("", lookup({address("10.0.0.9"), address("10.0.0.1")}, "10.0.0.1"));
  ASSERT_TRUE(chosen);
  ASSERT_EQ(chosen->devices.size(), 1U);
  EXPECT_EQ(chosen->devices[0].address, "10.0.0.1");
  EXPECT_EQ(chosen->remark, "");
}

TEST(GlooDevices, AreLoopbackWithARemarkWhereTheNameLeadsNowhere) {
  const auto chosen = choose_gloo_devices("", lookup({address("10.0.0.9")}, "10.0.0.1"));
  ASSERT_TRUE(chosen);
  ASSERT_EQ(chosen->devices.size(), 1U);
  EXPECT_EQ(chosen->devices[0].address, "127.0.0.1");
  EXPECT_THAT(chosen->remark, HasSubstr("'node1'"));
  EXPECT_THAT(chosen->remark, HasSubstr("GLOO_SOCKET_IFNAME"));
}

TEST(GlooDevices, WarnOfANameThatMeansLoopback) {
  const auto chosen = choose_gloo_devices("", lookup({address("127.0.1.1")}, "127.0.1.1"));
  ASSERT_TRUE(chosen);
  ASSERT_EQ(chosen->devices.size(), 1U);
  EXPECT_EQ(chosen->devices[0].address, "127.0.1.1");
  EXPECT_THAT(chosen->remark, HasSubstr("'node1' stands for 127.0.1.1"));
}

TEST(Hex, CarriesEveryByte) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
  }
  EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  EXPECT_EQ(to_hex("\x01\xab"), "01ab");
}

TEST(Hex, IsNothingElse) {
  EXPECT_EQ(from_hex("abc"), std::nullopt);
  EXPECT_EQ(from_hex("zz"), std::nullopt);
  EXPECT_EQ(from_hex(""), "");
}

}  // namespace
}  // namespace chokepoint::probe::collective
