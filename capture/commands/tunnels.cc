#include "capture/commands/tunnels.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

namespace chokepoint::capture {
namespace {

struct Named {
  std::string_view name;
  bool packet::Tunnels::* member;
};

constexpr std::array<Named, 4> kTunnels{{{"vxlan", &packet::Tunnels::vxlan},
                                         {"geneve", &packet::Tunnels::geneve},
                                         {"gre", &packet::Tunnels::gre},
                                         {"ipip", &packet::Tunnels::ip_in_ip}}};

}  // namespace

Result<packet::Tunnels> tunnels_named(const std::vector<std::string>& lists) {
  packet::Tunnels tunnels;
  for (const std::string& list : lists) {
    for (const auto word : std::views::split(list, ',')) {
      const std::string_view name(word.begin(), word.end());
      const auto* const found = std::ranges::find(kTunnels, name, &Named::name);
      if (found == kTunnels.end()) {
        return fail(ErrorKind::Usage, "", "--decapsulate " + std::string(name), "no such tunnel",
                    "give vxlan, geneve, gre or ipip");
      }
      tunnels.*(found->member) = true;
    }
  }
  return tunnels;
}

}  // namespace chokepoint::capture
