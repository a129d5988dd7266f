#include <numeric>

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {

const char* name_of(VerdictClass verdict) {
  constexpr std::array kNames{"compute",         "straggler",     "lan-bandwidth", "lan-loss",
                              "lan-latency",     "wan-bandwidth", "wan-loss",      "wan-latency",
                              "receiver-host",   "sender-host",   "pcie-nic",      "pcie-gpu",
                              "rdma-congestion", "rdma-loss",     "wrong-path",    "unknown"};
  static_assert(kNames.size() == static_cast<std::size_t>(VerdictClass::Unknown) + 1);
  return kNames[static_cast<std::size_t>(verdict)];
}

const char* name_of(Account account) {
  constexpr std::array kNames{"compute", "straggler", "link",          "loss",
                              "window",  "library",   "receiver_host", "sender_host",
                              "pcie",    "latency",   "other"};
  static_assert(kNames.size() == kAccounts);
  return kNames[static_cast<std::size_t>(account)];
}

double Accounting::sum() const { return std::accumulate(ms.begin(), ms.end(), 0.0); }

}  // namespace chokepoint::analysis
