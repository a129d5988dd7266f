// Where rdma_cm tells what happens: a channel of events for some connections, each an identifier of
// rdma_cm's. Identifiers keep their channel; events are acknowledged as soon as they are copied, so
// that giving an identifier back never waits.
//
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/net/patience.h"
#include "rdma/verbs/cm_api.h"

namespace chokepoint::rdma::verbs {

struct CmEvent {
  rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_RESOLVED;
  int status = 0;  // minus an errno, or the reason of a rejection
  rdma_cm_id* id = nullptr;
  std::vector<std::uint8_t> told = {};  // private data
};

class CmChannel {
 public:
  static Result<std::shared_ptr<CmChannel>> open();
  CmChannel(std::shared_ptr<const CmApi> api, rdma_event_channel* raw)
      : api_(std::move(api)), raw_(raw) {}
  CmChannel(const CmChannel&) = delete;
  CmChannel& operator=(const CmChannel&) = delete;
  ~CmChannel() { api_->destroy_event_channel(raw_); }

  const CmApi& api() const { return *api_; }
  rdma_event_channel* raw() const { return raw_; }
  Result<CmEvent> next(const net::Patience& patience, std::string_view subject);

 private:
  std::shared_ptr<const CmApi> api_;
  rdma_event_channel* raw_;
};

// An identifier, given back with its channel after it. Move only.
class CmId {
 public:
  static Result<CmId> open(std::shared_ptr<CmChannel> channel);
  // One that an event brought.
  CmId(std::shared_ptr<CmChannel> channel, rdma_cm_id* raw)
      : channel_(std::move(channel)), raw_(raw, channel_->api().destroy_id) {}

  rdma_cm_id* get() const { return raw_.get(); }
  const CmApi& api() const { return channel_->api(); }
  CmChannel& channel() const { return *channel_; }
  const std::shared_ptr<CmChannel>& shared_channel() const { return channel_; }

 private:
  std::shared_ptr<CmChannel> channel_;
  std::unique_ptr<rdma_cm_id, int (*)(rdma_cm_id*)> raw_;
};

inline constexpr std::string_view kGiveAddress =
    "give addresses of the RDMA devices' own Ethernet interfaces";

// What an event that was not hoped for means.
Error explain(const CmEvent& event, std::string_view subject);

}  // namespace chokepoint::rdma::verbs
