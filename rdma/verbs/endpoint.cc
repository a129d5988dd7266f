#include "rdma/verbs/endpoint.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>

namespace chokepoint::rdma::verbs {
namespace {

struct Meaning {
  ibv_wc_status status;
  ErrorKind kind;
  std::string_view reason;
  std::string_view next_step;
};

constexpr std::string_view kOwnRequest = "this is a mistake of this program: please report it";
constexpr std::string_view kFirstError = "the first failure of this queue pair tells why";

constexpr std::array kMeanings{
    Meaning{IBV_WC_LOC_LEN_ERR, ErrorKind::Malformed,
            "a message is longer than what was laid out for it, or than the path's MTU over UD",
            "give both sides the same message size"},
    Meaning{IBV_WC_LOC_QP_OP_ERR, ErrorKind::Io,
            "the queue pair cannot do what was asked of it, or what came is longer than its place",
            "give both sides the same message size and operation"},
    Meaning{IBV_WC_LOC_EEC_OP_ERR, ErrorKind::Io, "the queue pair cannot do what was asked of it",
            kOwnRequest},
    Meaning{IBV_WC_LOC_PROT_ERR, ErrorKind::Io,
            "a request names memory of this side that is not registered for it", kOwnRequest},
    Meaning{IBV_WC_WR_FLUSH_ERR, ErrorKind::Io,
            "the queue pair had failed before, and this request was never tried", kFirstError},
    Meaning{IBV_WC_MW_BIND_ERR, ErrorKind::Io, "a memory window could not be bound", kOwnRequest},
    Meaning{IBV_WC_BAD_RESP_ERR, ErrorKind::Malformed, "the peer answered what makes no sense",
            "compare drivers and firmware of both sides: 'chokepoint rdma devices'"},
    Meaning{IBV_WC_LOC_ACCESS_ERR, ErrorKind::Permission,
            "what arrived may not be written to this side's memory", kOwnRequest},
    Meaning{IBV_WC_REM_INV_REQ_ERR, ErrorKind::Refused,
            "the peer takes no such request: its queue pair does not allow the operation, or the "
            "message does not fit what it laid out",
            "give both sides the same operation and message size"},
    Meaning{IBV_WC_REM_ACCESS_ERR, ErrorKind::Permission,
            "the peer's memory may not be reached so: a wrong key, or outside of its bounds",
            "the peer may have ended or started anew: run the test again"},
    Meaning{IBV_WC_REM_OP_ERR, ErrorKind::Refused,
            "the peer's device could not do what was asked: the message does not fit its place, or "
            "the device failed",
            "give both sides the same message size; else see the peer's kernel log: dmesg"},
    Meaning{IBV_WC_RETRY_EXC_ERR, ErrorKind::Timeout,
            "no acknowledgement in time, after all retries: the peer is gone, or packets are lost "
            "on the way",
            "is the peer still there? else compare MTUs, GIDs and PFC on the way; "
            "ping -M do -s SIZE finds an MTU that is too large"},
    Meaning{IBV_WC_RNR_RETRY_EXC_ERR, ErrorKind::Busy,
            "the peer was not ready to receive, after all retries: it posts receives more slowly "
            "than messages come, or not at all",
            "a deeper receive queue at the peer, or fewer messages at once"},
    Meaning{IBV_WC_LOC_RDD_VIOL_ERR, ErrorKind::Io, "a reliable datagram domain does not fit",
            kOwnRequest},
    Meaning{IBV_WC_REM_INV_RD_REQ_ERR, ErrorKind::Refused,
            "the peer takes no such reliable datagram", kOwnRequest},
    Meaning{IBV_WC_REM_ABORT_ERR, ErrorKind::Refused, "the peer gave the operation up",
            "see what the peer says"},
    Meaning{IBV_WC_INV_EECN_ERR, ErrorKind::Io, "an end-to-end context does not fit", kOwnRequest},
    Meaning{IBV_WC_INV_EEC_STATE_ERR, ErrorKind::Io, "an end-to-end context does not fit",
            kOwnRequest},
    Meaning{IBV_WC_FATAL_ERR, ErrorKind::Io, "the device failed", "see the kernel log: dmesg"},
    Meaning{IBV_WC_RESP_TIMEOUT_ERR, ErrorKind::Timeout, "no answer in time",
            "is the peer still there?"},
    Meaning{IBV_WC_GENERAL_ERR, ErrorKind::Io, "the device failed", "see the kernel log: dmesg"},
};

std::string with_vendor(std::string_view reason, std::uint32_t vendor_error) {
  return vendor_error == 0 ? std::string(reason)
                           : fmt::format("{} (vendor error 0x{:x})", reason, vendor_error);
}

}  // namespace

Error explain(const Completion& completion, std::string_view peer) {
  const auto found = std::ranges::find_if(kMeanings, [&](const Meaning& meaning) {
    return static_cast<int>(meaning.status) == completion.status;
  });
  if (found == kMeanings.end()) {
    return {
        ErrorKind::Io,
        "RDMA",
        std::string(peer),
        0,
        with_vendor(fmt::format("a request failed with the unknown status {}", completion.status),
                    completion.vendor_error),
        "see the kernel log: dmesg"};
  }
  return {found->kind,
          "RDMA",
          std::string(peer),
          0,
          with_vendor(found->reason, completion.vendor_error),
          std::string(found->next_step)};
}

}  // namespace chokepoint::rdma::verbs
