#include "base/host/link_speed.h"

#include <algorithm>
#include <string>

namespace chokepoint::host {
namespace {

template <class T>
void keep_larger(std::optional<T>& kept, T value) {
  kept = std::max(kept.value_or(value), value);
}

}  // namespace

Links read_links(const sys::Root& root) {
  Links links;
  for (const std::string& name : root.list("/sys/class/net")) {
    const std::string folder = "/sys/class/net/" + name;
    if (!root.exists(folder + "/device") && !root.exists(folder + "/bonding")) {
      continue;
    }
    // A link that is down says -1.
    if (const std::optional<std::int64_t> speed = root.number(folder + "/speed");
        speed && *speed > 0) {
      keep_larger(links.fastest_mbps, static_cast<double>(*speed));
    }
    if (const std::optional<std::int64_t> mtu = root.number(folder + "/mtu")) {
      keep_larger(links.largest_mtu_bytes, *mtu);
    }
  }
  return links;
}

}  // namespace chokepoint::host
