#include "base/net/rtnetlink.h"

#include <gmock/gmock.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <vector>

namespace chokepoint::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// As the kernel answers: header, dcbmsg, interface, and the nested answer with PFC in it.
struct Answer {
  nlmsghdr header{};
  dcbmsg body{};
  nlattr name{};
  char interface[8] = "eth0";
  nlattr all{};
  nlattr pfc{};
  ieee_pfc settings{};
};

Answer answer(std::uint8_t enabled) {
  Answer made;
  made.header.nlmsg_len = sizeof(Answer);
  made.header.nlmsg_type = RTM_GETDCB;
  made.body.cmd = DCB_CMD_IEEE_GET;
  made.name = {.nla_len = sizeof(nlattr) + 8, .nla_type = DCB_ATTR_IFNAME};
  made.all = {.nla_len = 2 * sizeof(nlattr) + sizeof(ieee_pfc),
              .nla_type = DCB_ATTR_IEEE | NLA_F_NESTED};
  made.pfc = {.nla_len = sizeof(nlattr) + sizeof(ieee_pfc), .nla_type = DCB_ATTR_IEEE_PFC};
  made.settings.pfc_cap = 8;
  made.settings.pfc_en = enabled;
  return made;
}

std::vector<std::byte> bytes_of(const Answer& made) {
  std::vector<std::byte> bytes(sizeof(made));
  std::memcpy(bytes.data(), &made, sizeof(made));
  return bytes;
}

TEST(PriorityFlowControl, NamesThePrioritiesThatArePaused) {
  static_assert(sizeof(Answer) == 16 + 4 + 12 + 4 + 4 + sizeof(ieee_pfc));
  EXPECT_THAT(priority_flow_control_in(bytes_of(answer(0b1000'1000)))->enabled, ElementsAre(3, 7));
  EXPECT_THAT(priority_flow_control_in(bytes_of(answer(0)))->enabled, IsEmpty());
}

TEST(PriorityFlowControl, AnAnswerCutShortIsNone) {
  const std::vector<std::byte> whole = bytes_of(answer(8));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<long>(size));
    EXPECT_FALSE(priority_flow_control_in(cut)) << size;
  }
  Answer without = answer(8);
  without.all.nla_len = sizeof(nlattr);
  EXPECT_FALSE(priority_flow_control_in(bytes_of(without)));
  without = answer(8);
  without.pfc.nla_len = sizeof(nlattr) + 4;
  EXPECT_FALSE(priority_flow_control_in(bytes_of(without)));
}

TEST(PriorityFlowControl, AnInterfaceWithoutItIsAnError) {
  EXPECT_FALSE(priority_flow_control("lo"));
  EXPECT_FALSE(priority_flow_control("an-interface-with-a-long-name"));
}

}  // namespace
}  // namespace chokepoint::net
