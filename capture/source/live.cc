#include "capture/source/live.h"

#include <utility>

#include "capture/source/interface_choice.h"
#include "capture/source/network_namespace.h"
#include "capture/source/ring_size.h"
#include "capture/source/several_live.h"
#include "capture/source/single_live.h"

namespace chokepoint::capture::source {
namespace {

Result<ListenedTo> listen_to(const InterfaceFacts& facts, const LiveOptions& options) {
  const TapOptions tap_options{.snapshot_bytes = options.snapshot_bytes,
                               .ring_bytes = options.ring_bytes > 0
                                                 ? options.ring_bytes
                                                 : ring_size(facts, options.snapshot_bytes),
                               .filter = options.filter,
                               .promiscuous = options.promiscuous,
                               .time_scale = options.time_scale};
  TRY(auto tap, Tap::open(facts.name, tap_options, InterfaceDrops::of(options.root, facts.name)));
  Interface interface{.name = facts.name,
                      .link_type = tap.link_type(),
                      .snapshot_bytes = tap.snapshot_bytes(),
                      .mtu = facts.mtu};
  return ListenedTo{.tap = std::move(tap), .interface = std::move(interface)};
}

Result<std::unique_ptr<LiveSource>> open_here(const LiveOptions& options) {
  TRY(auto choice, choose_interfaces(read_interfaces(options.root), options.interfaces));
  std::vector<ListenedTo> listened_to;
  for (const InterfaceFacts& facts : choice.interfaces) {
    TRY(auto one, listen_to(facts, options));
    listened_to.push_back(std::move(one));
  }
  if (listened_to.empty()) {
    return fail(ErrorKind::NotFound, "listen", "any", "no interface is up",
                "'ip link' shows them; 'ip link set NAME up'");
  }
  if (listened_to.size() == 1) {
    return single_live(std::move(listened_to.front()), std::move(choice.remarks));
  }
  return several_live(std::move(listened_to), std::move(choice.remarks));
}

}  // namespace

Result<std::unique_ptr<LiveSource>> open_live(const LiveOptions& options) {
  if (options.netns.empty()) {
    return open_here(options);
  }
  Result<std::unique_ptr<LiveSource>> opened;
  if (auto done = inside_namespace(options.netns, [&] { opened = open_here(options); }); !done) {
    return fail(std::move(done.error()));
  }
  return opened;
}

}  // namespace chokepoint::capture::source
