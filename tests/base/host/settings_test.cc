#include "base/host/settings.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;
using testing::UnorderedElementsAre;
using Json = nlohmann::ordered_json;

Fact fact(const char* category, const char* subject, const char* key, const char* value) {
  return {category, subject, key, value, "test"};
}

TEST(Settings, AreWhatSomebodyCanChange) {
  const Settings settings = settings_of(
      {fact("kernel", "", "release", "6.1"), fact("kernel", "", "boot_id", "1234"),
       fact("sysctl", "", "net.core.rmem_max", "4194304"), fact("nic", "eth0", "kind", "physical"),
       fact("nic", "eth0", "mtu", "9000"), fact("nic", "eth0", "rx_bytes", "17"),
       fact("nic", "eth0", "stat_rx_kicks", "17"), fact("nic", "eth0", "irq_38_count", "17"),
       fact("nic", "eth0", "address_ipv4", "10.0.0.1/24"),
       fact("nic", "eth0", "feature_rx-gro", "on"),
       fact("nic", "eth0", "feature_rx-lro", "off [fixed]"),
       fact("memory", "", "available_bytes", "17")});
  EXPECT_THAT(settings,
              ElementsAre(Pair("kernel", ElementsAre(Pair("release", "6.1"))),
                          Pair("nic eth0", UnorderedElementsAre(Pair("mtu", "9000"),
                                                                Pair("feature_rx-gro", "on"))),
                          Pair("sysctl", ElementsAre(Pair("net.core.rmem_max", "4194304")))));
}

TEST(Settings, CoresThatAreSetAlikeAreOne) {
  const Settings settings = settings_of({fact("cpu", "policy0", "governor", "powersave"),
                                         fact("cpu", "policy1", "governor", "powersave"),
                                         fact("cpu", "policy2", "governor", "performance"),
                                         fact("cpu", "", "online", "3")});
  EXPECT_THAT(settings, ElementsAre(Pair(
                            "cpu", UnorderedElementsAre(Pair("governor", "powersave, performance"),
                                                        Pair("online", "3")))));
}

TEST(Settings, VirtualInterfacesCountWhereTheyHaveAnAddress) {
  const Facts facts{
      fact("nic", "lo", "kind", "loopback"), fact("nic", "lo", "address_ipv4", "127.0.0.1/8"),
      fact("nic", "lo", "mtu", "65536"),     fact("nic", "veth1", "kind", "veth"),
      fact("nic", "veth1", "mtu", "1500"),   fact("nic", "veth2", "kind", "veth"),
      fact("nic", "veth2", "mtu", "1500"),   fact("nic", "veth2", "address_ipv4", "10.0.0.1/24")};
  EXPECT_THAT(settings_of(facts), ElementsAre(Key("nic veth2")));
}

TEST(Settings, OfADocumentAreReadOnlyAsTextsOfTexts) {
  EXPECT_THAT(settings_in(Json::parse(R"({"sysctl":{"a":"1"}})")),
              ElementsAre(Pair("sysctl", ElementsAre(Pair("a", "1")))));
  for (const char* wrong :
       {R"([])", R"("sysctl")", R"({"sysctl":["a"]})", R"({"sysctl":{"a":1}})"}) {
    EXPECT_THAT(settings_in(Json::parse(wrong)), IsEmpty()) << wrong;
  }
  Json large;
  for (int subject = 0; subject < 2000; ++subject) {
    large[std::to_string(subject)] = {{"a", "1"}};
  }
  EXPECT_THAT(settings_in(large), IsEmpty());
  EXPECT_THAT(settings_in({{"sysctl", {{"a", std::string(5000, 'x')}}}}), IsEmpty());
}

// A peer reads them: what is made must never be more than it accepts.
TEST(Settings, OfALargeHostAreStillAccepted) {
  Facts facts;
  for (int number = 0; number < 3000; ++number) {
    const std::string name = std::to_string(number);
    facts.push_back({"nic", "eth" + name, "mtu", "1500", "test"});
    facts.push_back({"sysctl", "", "net.made." + name, std::string(3000, 'x'), "test"});
  }
  for (int number = 0; number < 3000; ++number) {
    const std::string name = std::to_string(number);
    facts.push_back({"cpu", "policy" + name, "allowed_khz", name + "000", "test"});
  }
  const Settings settings = settings_of(facts);
  EXPECT_THAT(settings, testing::IsSupersetOf({Key("sysctl"), Key("cpu"), Key("nic eth7")}));
  EXPECT_EQ(settings_in(Json(settings)), settings);
}

TEST(Settings, AreReadBelowTheRoot) {
  const auto tree = fakes::HostTree::from_text(
      "/proc/sys/kernel/osrelease = 6.1.0\n/proc/sys/net/core/rmem_max = 99\n");
  const Settings settings = read_settings(tree.root());
  EXPECT_EQ(settings.at("kernel").at("release"), "6.1.0");
  EXPECT_EQ(settings.at("sysctl").at("net.core.rmem_max"), "99");
}

}  // namespace
}  // namespace chokepoint::host
