#include "rdma/verbs/endpoint.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>

#include "rdma/verbs/queues.h"

namespace chokepoint::rdma::verbs {
namespace {

struct Meaning {
  ibv_wc_status status;
  ErrorKind kind;
  std::string_view reason;
  std::string_view next_step;
};

constexpr std::string_view kOwnRequest = "this is a mistake of this program: please report it";
constexpr std::string_view kFirstError = "the first failure of this queue pair says why";

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
            "on the path",
            "is the peer still there? else compare MTUs, GIDs and PFC on the path; "
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

Result<std::unique_ptr<CompletionQueue>> queue_for(const EndpointParts& parts,
                                                   const EndpointOptions& options, int depth) {
  return CompletionQueue::open(parts, std::max(1, options.queues * depth), options.events);
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

Endpoint::Endpoint(EndpointParts parts, const EndpointOptions& options)
    : parts_(std::move(parts)),
      options_(options),
      address_{.lid = parts_.port.lid, .gid = parts_.gid} {}

Endpoint::~Endpoint() = default;

Result<std::unique_ptr<Endpoint>> Endpoint::open(EndpointParts parts,
                                                 const EndpointOptions& options) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(std::move(parts), options));
  TRY(endpoint->make_queues());
  return endpoint;
}

Result<> Endpoint::make_queues() {
  TRY(sends_, queue_for(parts_, options_, options_.send_depth));
  TRY(receives_, queue_for(parts_, options_, options_.receive_depth));
  for (int index = 0; index < options_.queues; ++index) {
    TRY(auto queue, QueuePair::open(parts_, options_, index,
                                    {.sends = sends_->raw(), .receives = receives_->raw()}));
    address_.queues.push_back(queue->address());
    queues_.push_back(std::move(queue));
  }
  return {};
}

Result<> Endpoint::connect(const EndpointAddress& peer, const PathOptions& path) {
  if (peer.queues.size() != queues_.size()) {
    return fail(ErrorKind::Malformed, "connect", parts_.device,
                fmt::format("the peer has {} queue pairs, this side {}", peer.queues.size(),
                            queues_.size()));
  }
  for (std::size_t index = 0; index < queues_.size(); ++index) {
    TRY(queues_[index]->connect(peer, peer.queues[index], path));
  }
  return {};
}

Result<> Endpoint::lay_out_sends(int queue, std::span<const SendRequest> ring) {
  return queues_.at(static_cast<std::size_t>(queue))->lay_out_sends(ring);
}

Result<> Endpoint::lay_out_receives(int queue, std::span<const LocalMemory> ring) {
  return queues_.at(static_cast<std::size_t>(queue))->lay_out_receives(ring);
}

int Endpoint::post_sends(int queue, std::size_t first, std::size_t count, bool signal) {
  return queues_[static_cast<std::size_t>(queue)]->post_sends(first, count, signal);
}

int Endpoint::post_receives(int queue, std::size_t first, std::size_t count) {
  return queues_[static_cast<std::size_t>(queue)]->post_receives(first, count);
}

int Endpoint::poll_sends(std::span<Completion> into) { return sends_->poll(into); }

int Endpoint::poll_receives(std::span<Completion> into) { return receives_->poll(into); }

Result<> Endpoint::wait_sends(const net::Deadline& deadline) { return sends_->wait(deadline); }

Result<> Endpoint::wait_receives(const net::Deadline& deadline) {
  return receives_->wait(deadline);
}

}  // namespace chokepoint::rdma::verbs
