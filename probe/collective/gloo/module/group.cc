#include "probe/collective/gloo/module/group.h"

#include <gloo/barrier.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "probe/collective/gloo/module/callback_store.h"
#include "probe/collective/gloo/module/collectives.h"

namespace chokepoint::probe::collective::gloo_module {
namespace {

constexpr std::chrono::milliseconds kLeaving{2000};
// libgloo waits that often the context's patience for a connection.
constexpr int kConnecting = 5;

std::shared_ptr<::gloo::transport::Device> make_device(const DeviceChoice& choice) {
  ::gloo::transport::tcp::attr attributes;
  if (choice.interface != nullptr) {
    attributes.iface = choice.interface;
  } else {
    attributes.hostname = choice.address;
  }
  return ::gloo::transport::tcp::CreateDevice(attributes);
}

std::shared_ptr<::gloo::Context> connect(const Meeting& meeting, std::size_t number,
                                         const StoreCalls& calls) {
  auto device = make_device(meeting.devices[number]);
  CallbackStore store(calls, "gloo/" + std::to_string(number) + "/");
  auto context = std::make_shared<::gloo::rendezvous::Context>(meeting.rank, meeting.ranks);
  const std::chrono::milliseconds patience(meeting.timeout_ms);
  context->setTimeout(patience / kConnecting);
  context->connectFullMesh(store, device);
  context->setTimeout(patience);
  return context;
}

}  // namespace

Group::Group(const Meeting& meeting, const StoreCalls& store) {
  for (std::size_t number = 0; number < meeting.device_count; ++number) {
    contexts_.push_back(connect(meeting, number, store));
  }
}

void Group::prepare(const Work& work) {
  prepared_.clear();
  for (const std::shared_ptr<::gloo::Context>& context : contexts_) {
    prepared_.push_back(collective_of(work, context));
  }
}

Group::~Group() {
  if (failed_) {
    return;
  }
  try {
    for (const std::shared_ptr<::gloo::Context>& context : contexts_) {
      ::gloo::BarrierOptions options(context);
      options.setTag(tag_);
      options.setTimeout(std::min(context->getTimeout(), kLeaving));
      ::gloo::barrier(options);
    }
  } catch (const std::exception&) {
    failed_ = true;  // the others are gone already
  }
}

double Group::run() {
  const std::size_t turn = tag_ % contexts_.size();
  failed_ = true;
  const auto begin = std::chrono::steady_clock::now();
  prepared_.at(turn)(contexts_[turn], tag_++);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  failed_ = false;
  return took.count();
}

}  // namespace chokepoint::probe::collective::gloo_module
