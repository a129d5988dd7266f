#include "analysis/attribution/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace chokepoint::analysis {
namespace {

using enum VerdictClass;

struct Wording {
  VerdictClass verdict;
  std::string_view cause;  // empty: any other
  std::string_view text;
};

// A class's own words stand behind those of its causes.
constexpr std::array kWordings{
    Wording{Compute, "gpu-throttled",
            "computing fills the step, and GPUs are kept below their clocks"},
    Wording{Compute, "", "computing fills the step; no link, path or host holds it back"},
    Wording{Straggler, "gpu-throttled",
            "{rank} comes late, because its GPU is kept below its clocks"},
    Wording{Straggler, "", "{rank} comes late, and the others wait for it"},

    Wording{LanBandwidth, "shaper", "{link} is held to less than its interface can carry"},
    Wording{LanBandwidth, "competing-traffic", "{link} is full, partly of other traffic"},
    Wording{LanBandwidth, "", "{link} is full"},
    Wording{LanLoss, "link-cut", "{link} carried nothing for a while"},
    Wording{LanLoss, "interface-flap", "{link} went down and came up again"},
    Wording{LanLoss, "", "{link} loses packets"},
    Wording{LanLatency, "gloo-credit", "Gloo keeps too little in flight for {link}"},
    Wording{LanLatency, "", "many small messages wait for the round trip of {link}"},

    Wording{WanBandwidth, "shaper", "{path} is held to a rate below its line's"},
    Wording{WanBandwidth, "competing-traffic", "{path} is full, partly of other traffic"},
    Wording{WanBandwidth, "", "{path} is full"},
    Wording{WanLoss, "link-cut", "{path} carried nothing for a while"},
    Wording{WanLoss, "interface-flap", "{path} went down and came up again"},
    Wording{WanLoss, "", "{path} loses packets, which keeps the window small"},
    Wording{WanLatency, "gloo-credit", "Gloo keeps less in flight than {path} holds"},
    Wording{WanLatency, "nccl-sockets", "NCCL's sockets keep less in flight than {path} holds"},
    Wording{WanLatency, "receive-window",
            "the receive window of {receiver} is smaller than what {path} holds"},
    Wording{WanLatency, "send-buffer",
            "the send buffer of {sender} is smaller than what {path} holds"},
    Wording{WanLatency, "congestion-window",
            "the congestion window of {sender} is smaller than what {path} holds"},
    Wording{WanLatency, "", "messages wait for the round trip of {path}"},

    Wording{ReceiverHost, "softirq", "a core of {receiver} is busy taking packets in (softirq)"},
    Wording{ReceiverHost, "process-cpu",
            "the job on {receiver} gets too little processor time to take data in"},
    Wording{ReceiverHost, "receive-window",
            "the receive buffer of {receiver} is too small for {link}"},
    Wording{ReceiverHost, "", "{receiver} takes data in more slowly than {link} brings it"},
    Wording{SenderHost, "softirq", "a core of {sender} is busy with packets (softirq)"},
    Wording{SenderHost, "process-cpu",
            "the job on {sender} gets too little processor time to send"},
    Wording{SenderHost, "send-buffer", "the send buffer of {sender} is too small for {link}"},
    Wording{SenderHost, "", "{sender} sends more slowly than {link} could carry"},

    Wording{PcieNic, "pcie-width", "the PCIe slot of {interface} has too few lanes for its line"},
    Wording{PcieNic, "pcie-speed", "the PCIe slot of {interface} runs too slowly for its line"},
    Wording{PcieNic, "", "the PCIe link of {interface} is slower than its line"},
    Wording{PcieGpu, "pcie-width",
            "copies fill the PCIe link of {interface}, which has fewer lanes than it could"},
    Wording{PcieGpu, "pcie-speed",
            "copies fill the PCIe link of {interface}, which runs slower than it could"},
    Wording{PcieGpu, "shared-link", "GPUs of {node} share a PCIe link, and their copies fill it"},
    Wording{PcieGpu, "gloo-copies",
            "Gloo's copies between the GPUs of {node} and their host hold each exchange up"},
    Wording{PcieGpu, "", "copies to and from the GPUs of {node} fill their PCIe link"},
    Wording{RdmaCongestion, "receiver-pauses",
            "{interface} pauses the network: its host takes data in too slowly"},
    Wording{RdmaCongestion, "", "{link} is congested, and RDMA senders are slowed down"},
    Wording{RdmaLoss, "", "{link} loses packets, and RDMA sends them again"},

    Wording{WrongPath, "address-family",
            "the job uses the slower one of two address families on {link}"},
    Wording{WrongPath, "management-interface",
            "the job goes over {interface}, and a faster interface is there"},
    Wording{WrongPath, "", "the job goes over {interface}, and a better way is there"},

    Wording{Unknown, "rank-gone", "{rank} went away before the job's end"},
    Wording{Unknown, "", "time is lost, and the evidence names nobody"},
};

std::string_view wording_of(const Verdict& verdict) {
  const auto found = std::ranges::find_if(kWordings, [&](const Wording& wording) {
    return wording.verdict == verdict.verdict &&
           (wording.cause.empty() || wording.cause == verdict.cause);
  });
  return found == kWordings.end() ? name_of(verdict.verdict) : found->text;
}

std::string or_else(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : text;
}

std::string interface_of(const Where& where) {
  if (where.interface.empty()) {
    return where.node.empty() ? "an interface" : "an interface of " + where.node;
  }
  return where.node.empty() ? where.interface : where.interface + " of " + where.node;
}

// "the link from a to b", "the path between a and b, both ways"
std::string way_of(const char* what, const Where& where) {
  if (where.from.empty() && where.to.empty()) {
    return where.interface.empty() ? fmt::format("the {}", what)
                                   : fmt::format("the {} at {}", what, interface_of(where));
  }
  if (where.from.empty() || where.to.empty()) {
    return where.from.empty() ? fmt::format("the {} to {}", what, where.to)
                              : fmt::format("the {} from {}", what, where.from);
  }
  return where.direction == "both"
             ? fmt::format("the {} between {} and {} (both ways)", what,
                           std::min(where.from, where.to), std::max(where.from, where.to))
             : fmt::format("the {} from {} to {}", what, where.from, where.to);
}

std::string rank_of(const Where& where) {
  if (!where.rank) {
    return or_else(where.node, "one rank");
  }
  return where.node.empty() ? fmt::format("rank {}", *where.rank)
                            : fmt::format("rank {} on {}", *where.rank, where.node);
}

}  // namespace

std::string sentence_of(const Verdict& verdict) {
  const Where& where = verdict.where;
  return fmt::format(
      fmt::runtime(wording_of(verdict)), fmt::arg("link", way_of("link", where)),
      fmt::arg("path", way_of("path", where)), fmt::arg("interface", interface_of(where)),
      fmt::arg("node", or_else(where.node, "one node")), fmt::arg("rank", rank_of(where)),
      fmt::arg("receiver", or_else(where.node.empty() ? where.to : where.node, "the receiver")),
      fmt::arg("sender", or_else(where.node.empty() ? where.from : where.node, "the sender")));
}

std::string sentence_of(const Diagnosis& diagnosis) {
  const bool is_blind = !diagnosis.accounting && diagnosis.verdict.cause.empty() &&
                        diagnosis.verdict.verdict == VerdictClass::Unknown;
  return is_blind ? "the records tell too little to say where the time went"
                  : sentence_of(diagnosis.verdict);
}

const char* words_of(Account account) {
  constexpr std::array kWords{"computing",    "late rank", "link full",      "loss",
                              "small window", "library",   "receiving host", "sending host",
                              "PCIe",         "latency",   "other"};
  static_assert(kWords.size() == kAccounts);
  return kWords[static_cast<std::size_t>(account)];
}

}  // namespace chokepoint::analysis
