#include "capture/counter/protocol_sampler.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "capture/counter/words.h"

namespace chokepoint::capture::counter {
namespace {

// Those that say why traffic was slow. Sorted.
constexpr std::array<std::string_view, 66> kWanted{
    "ip.InAddrErrors",
    "ip.InDiscards",
    "ip.InHdrErrors",
    "ip.OutDiscards",
    "ip.OutNoRoutes",
    "ip.ReasmFails",
    "ip6.InDiscards",
    "ip6.InHdrErrors",
    "ip6.OutDiscards",
    "ip6.OutNoRoutes",
    "ip6.ReasmFails",
    "ipext.InCEPkts",
    "ipext.InCsumErrors",
    "tcp.AttemptFails",
    "tcp.EstabResets",
    "tcp.InCsumErrors",
    "tcp.InErrs",
    "tcp.InSegs",
    "tcp.OutRsts",
    "tcp.OutSegs",
    "tcp.RetransSegs",
    "tcpext.ListenDrops",
    "tcpext.ListenOverflows",
    "tcpext.OfoPruned",
    "tcpext.PFMemallocDrop",
    "tcpext.PruneCalled",
    "tcpext.RcvPruned",
    "tcpext.SyncookiesSent",
    "tcpext.TCPAbortOnMemory",
    "tcpext.TCPAbortOnTimeout",
    "tcpext.TCPBacklogDrop",
    "tcpext.TCPDSACKIgnoredOld",
    "tcpext.TCPDSACKOfoRecv",
    "tcpext.TCPDSACKOldSent",
    "tcpext.TCPDSACKRecv",
    "tcpext.TCPDSACKUndo",
    "tcpext.TCPFastRetrans",
    "tcpext.TCPFromZeroWindowAdv",
    "tcpext.TCPFullUndo",
    "tcpext.TCPLossProbes",
    "tcpext.TCPLossUndo",
    "tcpext.TCPLostRetransmit",
    "tcpext.TCPMemoryPressures",
    "tcpext.TCPMemoryPressuresChrono",
    "tcpext.TCPMinTTLDrop",
    "tcpext.TCPOFODrop",
    "tcpext.TCPOFOQueue",
    "tcpext.TCPRcvCollapsed",
    "tcpext.TCPRcvQDrop",
    "tcpext.TCPReqQFullDrop",
    "tcpext.TCPRetransFail",
    "tcpext.TCPSackRecovery",
    "tcpext.TCPSlowStartRetrans",
    "tcpext.TCPSpuriousRTOs",
    "tcpext.TCPSynRetrans",
    "tcpext.TCPTSReorder",
    "tcpext.TCPTimeouts",
    "tcpext.TCPToZeroWindowAdv",
    "tcpext.TCPWantZeroWindowAdv",
    "tcpext.TCPZeroWindowDrop",
    "udp.InErrors",
    "udp.MemErrors",
    "udp.RcvbufErrors",
    "udp.SndbufErrors",
    "udp6.RcvbufErrors",
    "udp6.SndbufErrors",
};
static_assert(std::ranges::is_sorted(kWanted));

constexpr std::array<std::string_view, 3> kAlways{"tcp.InSegs", "tcp.OutSegs", "tcp.RetransSegs"};

std::string_view without_colon(std::string_view word) {
  return word.ends_with(':') ? word.substr(0, word.size() - 1) : word;
}

// "Ip6InDiscards" is group "Ip6", name "InDiscards".
std::size_t group_length(std::string_view name) {
  const std::size_t digit = name.find('6');
  return digit == std::string_view::npos ? 0 : digit + 1;
}

}  // namespace

void ProtocolSampler::see(std::string_view group, std::string_view name, std::string_view value,
                          const std::string& path, std::int64_t now_ns, Sink& sink) {
  key_.clear();
  for (const char c : group) {
    key_ += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  key_.append(".").append(name);
  auto found = counters_.find(key_);
  if (found == counters_.end()) {
    const bool is_wanted = std::ranges::binary_search(kWanted, std::string_view(key_));
    const bool is_always = std::ranges::find(kAlways, key_) != kAlways.end();
    Counter* counter = is_wanted ? &sink.counter({key_, "", "count", path},
                                                 is_always ? Keep::Always : Keep::OnceChanged)
                                 : nullptr;
    found = counters_.emplace(key_, counter).first;
  }
  const std::optional<std::uint64_t> number = number_in(value);
  if (found->second != nullptr && number) {
    found->second->see(now_ns, *number);
  }
}

void ProtocolSampler::read_pairs(KeptFile& file, std::int64_t now_ns, Sink& sink) {
  const Result<std::string_view> text = file.read(buffer_);
  if (!text) {
    sink.remark("TCP's counters: " + describe(text.error()));
    return;
  }
  Words lines = lines_of(*text);
  for (std::string_view names = lines.next(); !names.empty(); names = lines.next()) {
    Words name(names);
    Words value(lines.next());
    const std::string_view group = without_colon(name.next());
    if (without_colon(value.next()) != group) {
      return;
    }
    for (std::string_view word = name.next(); !word.empty(); word = name.next()) {
      see(group, word, value.next(), file.path(), now_ns, sink);
    }
  }
}

void ProtocolSampler::read_list(KeptFile& file, std::int64_t now_ns, Sink& sink) {
  const Result<std::string_view> text = file.read(buffer_);
  if (!text) {
    return;  // a host without IPv6
  }
  Words words(*text);
  for (std::string_view name = words.next(); !name.empty(); name = words.next()) {
    const std::size_t group = group_length(name);
    see(name.substr(0, group), name.substr(group), words.next(), file.path(), now_ns, sink);
  }
}

void ProtocolSampler::sample(const Moment& moment, Sink& sink) {
  read_pairs(snmp_, moment.now_ns, sink);
  read_pairs(netstat_, moment.now_ns, sink);
  read_list(snmp6_, moment.now_ns, sink);
}

}  // namespace chokepoint::capture::counter
