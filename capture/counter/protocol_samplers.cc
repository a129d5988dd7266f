// Samplers of the kernel's network stack: IP, TCP, UDP, and the per-core receive queues.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>

#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {
namespace {

// Counters that explain why traffic was slow. Sorted.
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

// From /proc/net/snmp, snmp6 and netstat: what the kernel's IP, TCP and UDP counted over all
// connections of this network namespace: losses, timeouts, full queues. Names are the kernel's own:
// "tcp.RetransSegs", "tcpext.TCPTimeouts".
class ProtocolSampler final : public Sampler {
 public:
  explicit ProtocolSampler(const sys::Root& root)
      : snmp_(root, "/proc/net/snmp"),
        netstat_(root, "/proc/net/netstat"),
        snmp6_(root, "/proc/net/snmp6") {}

  void sample(const Moment& moment, Sink& sink) override {
    read_pairs(snmp_, moment.now_ns, sink);
    read_pairs(netstat_, moment.now_ns, sink);
    read_list(snmp6_, moment.now_ns, sink);
  }

 private:
  // Lines in pairs: names, then values.
  void read_pairs(KernelFile& file, std::int64_t now_ns, Sink& sink) {
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

  // A name and a value a line.
  void read_list(KernelFile& file, std::int64_t now_ns, Sink& sink) {
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

  void see(std::string_view group, std::string_view name, std::string_view value,
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
      Counter* counter = is_wanted
                             ? &sink.counter({key_, "", path, "count"},
                                             is_always ? FirstRow::Always : FirstRow::OnceChanged)
                             : nullptr;
      found = counters_.emplace(key_, counter).first;
    }
    const std::optional<std::uint64_t> number = number_in(value);
    if (found->second != nullptr && number) {
      found->second->see(now_ns, *number);
    }
  }

  KernelFile snmp_;
  KernelFile netstat_;
  KernelFile snmp6_;
  std::string buffer_;
  std::map<std::string, Counter*, std::less<>> counters_;
  std::string key_;  // a member for its storage
};

constexpr const char* kPath = "/proc/net/softnet_stat";

struct Line {
  std::uint64_t dropped = 0;
  std::uint64_t squeezed = 0;
  std::uint64_t core = 0;
};

// Hexadecimal columns; older kernels leave out the core's number, and the lines are in order.
Line line_of(std::string_view text, std::uint64_t number) {
  constexpr std::size_t kBetweenSqueezedAndCore = 9;
  Words words(text);
  words.skip(1);
  Line line;
  line.dropped = number_in(words.next(), 16).value_or(0);
  line.squeezed = number_in(words.next(), 16).value_or(0);
  words.skip(kBetweenSqueezedAndCore);
  line.core = number_in(words.next(), 16).value_or(number);
  return line;
}

Counter& counter_of(std::string_view name, const std::string& subject, Sink& sink) {
  return sink.counter({std::string(name), subject, kPath},
                      subject == "all" ? FirstRow::Always : FirstRow::OnceChanged, Wrap::At32Bits);
}

// From /proc/net/softnet_stat, per core, the last processing step before the protocols: packets
// dropped because its queue was full, and rounds that ended with work left to do.
class SoftnetSampler final : public Sampler {
 public:
  explicit SoftnetSampler(const sys::Root& root) : stat_(root, "/proc/net/softnet_stat") {}

  void sample(const Moment& moment, Sink& sink) override {
    const Result<std::string_view> text = stat_.read(buffer_);
    if (!text) {
      sink.remark("softnet: " + describe(text.error()));
      return;
    }
    Line sum;
    std::uint64_t number = 0;
    Words lines = lines_of(*text);
    for (std::string_view row = lines.next(); !row.empty(); row = lines.next()) {
      const Line line = line_of(row, number++);
      const std::string subject = fmt::format("cpu{}", line.core);
      Counter& dropped = counter_of(record::kSoftnetDropped, subject, sink);
      Counter& squeezed = counter_of(record::kSoftnetSqueezed, subject, sink);
      dropped.see(moment.now_ns, line.dropped);
      squeezed.see(moment.now_ns, line.squeezed);
      sum.dropped += dropped.value();
      sum.squeezed += squeezed.value();
    }
    counter_of(record::kSoftnetDropped, "all", sink).see(moment.now_ns, sum.dropped);
    counter_of(record::kSoftnetSqueezed, "all", sink).see(moment.now_ns, sum.squeezed);
  }

 private:
  KernelFile stat_;
  std::string buffer_;
};

}  // namespace

OwnedSampler protocol_sampler(const sys::Root& root) {
  return std::make_unique<ProtocolSampler>(root);
}

OwnedSampler softnet_sampler(const sys::Root& root) {
  return std::make_unique<SoftnetSampler>(root);
}

}  // namespace chokepoint::capture::counter
