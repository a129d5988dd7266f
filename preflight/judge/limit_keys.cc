#include "preflight/judge/limit_keys.h"

#include <array>

namespace chokepoint::preflight {
namespace {

constexpr double kFastest = 10'000'000;  // 10 Tb/s, in Mb/s
constexpr double kLongest = 3'600'000;   // an hour, in ms

constexpr std::array kSections = {
    LimitSection{"link", "What a link between two hosts of one network has to carry."},
    LimitSection{"wan", "Paths that leave the local network."},
    LimitSection{"loss", "Packets of UDP at a low rate, with nothing else on."},
    LimitSection{"latency", "Round trips with nothing else on."},
    LimitSection{"mtu", "The largest packet."},
    LimitSection{"clock", "Hosts' clocks against the cluster's median."},
    LimitSection{"host", "What a host itself must not hold back."},
    LimitSection{"uplink", "What groups of hosts share."},
    LimitSection{"rdma", "RDMA where both hosts have an active port."},
    LimitSection{"collective", "The collective over all hosts."},
    LimitSection{"baseline", "What is worse than last time (--baseline)."},
};

constexpr std::array kKeys = {
    LimitKey{"link", "rate_mbps", &Limits::link_rate_mbps, 1, kFastest, 10000,
             "What every host's link carries. Needed where NICs do not know, as in virtual\n"
             "machines; where they do, the smaller counts, and a port that came up slower is\n"
             "a finding. [[hosts]] says it for some hosts."},
    LimitKey{"link", "share", &Limits::link_share, 0.01, 1, 0,
             "Of that a TCP test has to reach so much: headers take 6 % with packets of 1500\n"
             "bytes, and a short test does not begin at full speed."},
    LimitKey{"link", "critical_share", &Limits::link_critical_share, 0, 1, 0,
             "Below this share it is CRITICAL, else WARNING."},
    LimitKey{"link", "peer_share", &Limits::link_peer_share, 0.01, 1, 0,
             "Where nobody knows the rate: a link has to reach so much of what most hosts\n"
             "reach with others. Of four hosts and more."},
    LimitKey{"link", "steady_share", &Limits::link_steady_share, 0.01, 1, 0,
             "The same where it is as slow alone as beside others and no processor is busy: that\n"
             "is no noise."},
    LimitKey{"link", "few_share", &Limits::link_few_share, 0.01, 1, 0,
             "The same where fewer hosts can be compared, or it was not tested alone. A link of\n"
             "few hosts that is steady needs peer_share."},
    LimitKey{"wan", "rtt_ms", &Limits::wan_rtt_ms, 0.001, kLongest, 0,
             "From this round trip on a path counts as WAN: ports' rates promise nothing there."},
    LimitKey{"wan", "rate_mbps", &Limits::wan_rate_mbps, 0.001, kFastest, 1000,
             "What one connection of hosts gets over it."},
    LimitKey{"loss", "percent", &Limits::loss_percent, 0, 100, 0,
             "More loss than this is a finding, once there were packets enough to be sure."},
    LimitKey{"loss", "critical_percent", &Limits::loss_critical_percent, 0, 100, 0,
             "From here on it is CRITICAL."},
    LimitKey{
        "loss", "false_alarm", &Limits::loss_false_alarm, 1e-12, 0.5, 0,
        "How likely a preflight may be to call a cluster lossy that is just within the limit."},
    LimitKey{"latency", "lan_ms", &Limits::latency_lan_ms, 0, kLongest, 0,
             "The median round trip within a local network."},
    LimitKey{"latency", "p99_ms", &Limits::latency_p99_ms, 0, kLongest, 5,
             "Of a hundred round trips in a local network the slowest but one. Not judged unless "
             "set."},
    LimitKey{"mtu", "bytes", &Limits::mtu_bytes, 576, 65536, 9000,
             "What every interface must have. Unset: the same within a network."},
    LimitKey{"clock", "offset_ms", &Limits::clock_offset_ms, 0, kLongest, 0,
             "Records of several hosts are laid side by side by their clocks."},
    LimitKey{"clock", "critical_ms", &Limits::clock_critical_ms, 0, kLongest * 24, 0,
             "From here on certificates and Slurm's munge begin to fail."},
    LimitKey{"host", "window_share", &Limits::window_share, 0.01, 1, 0,
             "A flow that waited so much of its time for a buffer is limited by it."},
    LimitKey{"host", "cpu_percent", &Limits::cpu_percent, 1, 100, 0,
             "A core this busy limits the flows it serves."},
    LimitKey{"host", "slot_share", &Limits::slot_share, 0.01, 1, 0,
             "A PCIe slot that carries less than this share of its port's rate is CRITICAL."},
    LimitKey{"uplink", "share", &Limits::uplink_share, 0.01, 1, 0,
             "Of what the pairs carry alone they must carry so much all at once."},
    LimitKey{"rdma", "share", &Limits::rdma_share, 0.01, 1, 0,
             "Of the ports' rate a write must reach so much."},
    LimitKey{"collective", "bus_mbps", &Limits::collective_mbps, 0.001, kFastest, 5000,
             "Bus bandwidth that the collective must reach. Not judged unless set."},
    LimitKey{"baseline", "worse_percent", &Limits::baseline_worse_percent, 0, 100, 0,
             "Throughput that fell by more, and beyond what the runs themselves vary."},
    LimitKey{"baseline", "latency_ms", &Limits::baseline_latency_ms, 0, kLongest, 0,
             "A round trip that grew by more than this and by half."},
};

constexpr std::array<std::string_view, 3> kTaken = {"nothing", "critical", "warning"};

}  // namespace

std::span<const LimitSection> limit_sections() { return kSections; }

std::span<const LimitKey> limit_keys() { return kKeys; }

std::string_view name_of(DoctorTaken taken) { return kTaken.at(static_cast<std::size_t>(taken)); }

std::optional<DoctorTaken> doctor_taken_named(std::string_view name) {
  for (std::size_t index = 0; index < kTaken.size(); ++index) {
    if (kTaken[index] == name) {
      return static_cast<DoctorTaken>(index);
    }
  }
  return std::nullopt;
}

}  // namespace chokepoint::preflight
