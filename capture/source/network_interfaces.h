// A host's interfaces as a capture needs them: facts from /sys/class/net, which of them to listen
// on, how large their rings are, and what they dropped. Read through a given root. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::capture::source {

enum class InterfaceKind { Other, Bridge, Tunnel };

struct InterfaceFacts {
  std::string name = {};
  InterfaceKind kind = InterfaceKind::Other;
  bool up = false;
  std::uint32_t mtu = 0;  // 0: not known
  std::optional<std::int64_t> speed_mbps = {};
  std::int64_t index = 0;
  std::int64_t link_index = 0;              // of a veth: its other end; else often its own
  std::vector<std::string> stands_on = {};  // a bond on its slaves, a VLAN on its device
};

// Sorted by name.
std::vector<InterfaceFacts> read_interfaces(const sys::Root& root);

struct InterfaceChoice {
  std::vector<InterfaceFacts> interfaces = {};
  std::vector<std::string> remarks = {};  // what was left out, and why
};

// Which interfaces to listen on, so that no packet is counted twice. Decided before the first
// packet by how the interfaces are connected, never by comparing packets:
//
//   bond, team, VLAN, macvlan   sees what its lower interfaces see: it is left out if all of those
//                               that are up are listened on; otherwise they are left out
//   bridge                      a packet passes two ports, or a port and the bridge: if a port
//   leads
//                               out of the host, only such ports are kept; otherwise only the
//                               bridge
//   veth                        both ends in one namespace: the first is kept
//   ifb                         repeats what another interface saw; never part of "any"
//
// `names` empty or {"any"}: all that are up. Fails if a name does not exist. Pure.
Result<InterfaceChoice> choose_interfaces(const std::vector<InterfaceFacts>& all,
                                          const std::vector<std::string>& names);

// Packets that an interface lost before the kernel saw them, by its own counters. Their files stay
// open, so that they can be read after the thread has left the interface's network namespace.
class InterfaceDrops {
 public:
  InterfaceDrops() = default;
  static InterfaceDrops of(const sys::Root& root, const std::string& interface);

  // Packets since the last call.
  std::uint64_t newly_dropped();

 private:
  std::uint64_t total() const;

  std::vector<sys::Descriptor> counters_;
  std::uint64_t before_ = 0;
};

// The kernel fills the ring in blocks of this size, whatever the snapshot length.
inline constexpr std::uint64_t kRingBlockBytes = std::uint64_t{256} << 10;
inline constexpr std::uint64_t kMinRingBytes = std::uint64_t{8} << 20;
inline constexpr std::uint64_t kMaxRingBytes = std::uint64_t{256} << 20;

// Bytes for a ring that holds full-size packets at line rate in both directions while the reader is
// away for a tenth of a second. Pure.
std::uint64_t ring_size(const InterfaceFacts& interface, std::uint32_t snapshot_bytes);

}  // namespace chokepoint::capture::source
