// What the kernel's IP, TCP and UDP counted over all connections of this network namespace, from
// /proc/net/snmp, snmp6 and netstat: losses, timeouts, queues that were full. Names are the
// kernel's own: "tcp.RetransSegs", "tcpext.TCPTimeouts".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/sys/root.h"
#include "capture/counter/kept_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

class ProtocolSampler final : public Sampler {
 public:
  explicit ProtocolSampler(const sys::Root& root)
      : snmp_(root, "/proc/net/snmp"),
        netstat_(root, "/proc/net/netstat"),
        snmp6_(root, "/proc/net/snmp6") {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  // Lines in pairs: names, then values.
  void read_pairs(KeptFile& file, std::int64_t now_ns, Sink& sink);
  // A name and a value a line.
  void read_list(KeptFile& file, std::int64_t now_ns, Sink& sink);
  void see(std::string_view group, std::string_view name, std::string_view value,
           const std::string& path, std::int64_t now_ns, Sink& sink);

  KeptFile snmp_;
  KeptFile netstat_;
  KeptFile snmp6_;
  std::string buffer_;
  std::map<std::string, Counter*, std::less<>> counters_;
  std::string key_;  // kept for its storage
};

}  // namespace chokepoint::capture::counter
