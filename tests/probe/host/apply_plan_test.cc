#include "probe/host/apply_plan.h"

#include <gmock/gmock.h>

#include "tests/fakes/host_tree.h"
#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ApplyPlan : public testing::Test {
 protected:
  std::string plan(const std::string& next_step, Status status = Status::Warning) {
    return apply_plan(inventory_,
                      {{.id = "a.check",
                        .status = status,
                        .subject = "eth0",
                        .found = "x",
                        .next_step = next_step}},
                      tree_.root());
  }

  fakes::HostTree tree_ = fakes::HostTree::from_text("");
  host::Inventory inventory_;
};

TEST_F(ApplyPlan, PutsSysctlsBackAsTheyWere) {
  tree_.write("/proc/sys/net/core/rmem_max", "212992\n");
  tree_.write("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
  EXPECT_THAT(
      plan("sysctl -w net.core.rmem_max=536870912 net.ipv4.tcp_rmem='4096 131072 268435456'"),
      AllOf(HasSubstr("    sysctl -w net.core.rmem_max=536870912 net.ipv4.tcp_rmem='4096 "
                      "131072 268435456'\n"),
            HasSubstr("    sysctl -w net.core.rmem_max='212992' net.ipv4.tcp_rmem='4096 "
                      "131072 6291456'\n")));
}

TEST_F(ApplyPlan, PutsSettingsOfAPortBackAsTheyWere) {
  host::Nic nic{.name = "eth0", .mtu = 1500};
  nic.settings.rings = net::Rings{.rx = 512, .tx = 256};
  nic.settings.channels = net::Channels{.combined = 1};
  inventory_.network.nics = {nic};
  EXPECT_THAT(plan("ethtool -G eth0 rx 8192 tx 8192"),
              HasSubstr("ethtool -G eth0 rx 512 tx 256\n"));
  EXPECT_THAT(plan("ethtool -L eth0 combined 8"), HasSubstr("ethtool -L eth0 combined 1\n"));
  EXPECT_THAT(plan("ethtool -K eth0 gro on lro off"),
              HasSubstr("ethtool -K eth0 gro off lro on\n"));
  EXPECT_THAT(plan("ip link set eth0 mtu 9000"), HasSubstr("    ip link set eth0 mtu 1500\n"));
}

TEST_F(ApplyPlan, LeavesToThePersonWhatCannotBePutBack) {
  for (const char* step :
       {"ethtool -G eth9 rx 8192", "sysctl -w net.core.not_there=1", "ip link set eth0 up",
        "dmesg | grep link", "sysctl -w net.core.rmem_max=1; rm -rf /tmp/x", "reseat the card"}) {
    EXPECT_THAT(plan(step), AllOf(HasSubstr(std::string("#   ") + step), HasSubstr("    :\n")))
        << step;
  }
  EXPECT_THAT(plan("reseat the card", Status::Info), Not(HasSubstr("reseat")));
}

TEST_F(ApplyPlan, ANameThatAShellWouldRunIsNeverACommand) {
  tree_.write("/proc/sys/net/core/rmem_max", "1$(reboot)\n");
  EXPECT_THAT(plan("sysctl -w net.core.rmem_max=2"), HasSubstr("    :\n"));
  EXPECT_THAT(plan("sysctl -w net.core.rmem_max=$(reboot)"), HasSubstr("    :\n"));
  inventory_.network.nics = {{.name = "e;reboot", .mtu = 1500}};
  EXPECT_THAT(plan("ip link set e;reboot mtu 9000"), HasSubstr("    :\n"));
  EXPECT_THAT(plan("a\nreboot"), Not(HasSubstr("\nreboot")));
}

}  // namespace
}  // namespace chokepoint::probe
