#include "scripts/train/trainer/group.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>

#include "scripts/train/trainer/registered.h"
#include "scripts/train/trainer/transport.h"

namespace chokepoint::trainer {
namespace {

void sum(void* to, const void* a, const void* b, std::size_t count) {
  gloo::sum<float>(to, a, b, count);
}

}  // namespace

Group::Group(const Settings& settings) {
  auto device = make_device(settings);
  gloo::rendezvous::FileStore store(settings.meet);
  auto context = std::make_shared<gloo::rendezvous::Context>(settings.rank, settings.ranks);
  context->connectFullMesh(store, device);
  context_ = std::move(context);
  if (!settings.rdma.empty()) {
    registered_ = std::make_unique<Registered>(context_);
  }
}

Group::~Group() = default;

void Group::all_reduce(std::span<float> data) {
  if (registered_) {
    registered_->all_reduce(data);
    return;
  }
  gloo::AllreduceOptions options(context_);
  options.setOutput(data.data(), data.size());
  options.setReduceFunction(sum);
  options.setTag(tag_++);
  gloo::allreduce(options);
}

void Group::all_gather(std::span<float> own, std::span<float> all) {
  gloo::AllgatherOptions options(context_);
  options.setInput(own.data(), own.size());
  options.setOutput(all.data(), all.size());
  options.setTag(tag_++);
  gloo::allgather(options);
}

void Group::meet() {
  if (registered_) {
    registered_->meet();
    return;
  }
  gloo::BarrierOptions options(context_);
  options.setTag(tag_++);
  gloo::barrier(options);
}

Transfer Group::send(std::span<float> data, int to, std::uint64_t tag) {
  auto transfer = context_->createUnboundBuffer(data.data(), data.size_bytes());
  transfer->send(to, tag);
  return transfer;
}

Transfer Group::receive(std::span<float> data, int from, std::uint64_t tag) {
  auto transfer = context_->createUnboundBuffer(data.data(), data.size_bytes());
  transfer->recv(from, tag);
  return transfer;
}

}  // namespace chokepoint::trainer
