#include "probe/collective/gloo/module/collectives.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstring>

#include "probe/collective/gloo/module/elements.h"
#include "probe/collective/gloo/module/reduce_scatter.h"

namespace chokepoint::probe::collective::gloo_module {
namespace {

using Context = std::shared_ptr<::gloo::Context>;

::gloo::AllreduceOptions::Algorithm algorithm_of(Algorithm algorithm) {
  return algorithm == Algorithm::Bcube ? ::gloo::AllreduceOptions::Algorithm::BCUBE
                                       : ::gloo::AllreduceOptions::Algorithm::RING;
}

void all_reduce(const Work& work, const Context& context, std::uint32_t tag) {
  ::gloo::AllreduceOptions options(context);
  with_element(static_cast<ElementType>(work.type), [&](auto element) {
    using Element = decltype(element);
    options.setOutput(static_cast<Element*>(work.input), work.input_bytes / sizeof(Element));
    options.setReduceFunction(add<Element>);
  });
  options.setAlgorithm(algorithm_of(work.algorithm));
  options.setTag(tag);
  ::gloo::allreduce(options);
}

void reduce_scatter_by_all_reduce(const Work& work, const Context& context, std::uint32_t tag) {
  all_reduce(work, context, tag);
  const auto* sums = static_cast<const std::byte*>(work.input);
  const auto rank = static_cast<std::uint64_t>(context->rank);
  std::memcpy(work.output, sums + rank * work.output_bytes, work.output_bytes);
}

void all_gather(const Work& work, const Context& context, std::uint32_t tag) {
  ::gloo::AllgatherOptions options(context);
  options.setInput(static_cast<std::uint8_t*>(work.input), work.input_bytes);
  options.setOutput(static_cast<std::uint8_t*>(work.output), work.output_bytes);
  options.setTag(tag);
  ::gloo::allgather(options);
}

void broadcast(const Work& work, const Context& context, std::uint32_t tag) {
  ::gloo::BroadcastOptions options(context);
  options.setOutput(static_cast<std::uint8_t*>(work.output), work.output_bytes);
  options.setRoot(work.root);
  options.setTag(tag);
  ::gloo::broadcast(options);
}

void all_to_all(const Work& work, const Context& context, std::uint32_t tag) {
  ::gloo::AlltoallOptions options(context);
  options.setInput(static_cast<std::uint8_t*>(work.input), work.input_bytes);
  options.setOutput(static_cast<std::uint8_t*>(work.output), work.output_bytes);
  options.setTag(tag);
  ::gloo::alltoall(options);
}

void send_and_receive(const Work& work, const Context& context, std::uint32_t tag) {
  if (context->size == 1) {
    std::memcpy(work.output, work.input, work.output_bytes);
    return;
  }
  auto sent = context->createUnboundBuffer(work.input, work.input_bytes);
  auto received = context->createUnboundBuffer(work.output, work.output_bytes);
  received->recv((context->rank + context->size - 1) % context->size, tag);
  sent->send((context->rank + 1) % context->size, tag);
  received->waitRecv(context->getTimeout());
  sent->waitSend(context->getTimeout());
}

}  // namespace

Collectively collective_of(const Work& work, const Context& context) {
  const auto with = [work](auto* function) {
    return [work, function](const Context& on, std::uint32_t tag) { function(work, on, tag); };
  };
  switch (static_cast<Collective>(work.collective)) {
    case Collective::AllReduce:
      return with(all_reduce);
    case Collective::AllGather:
      return with(all_gather);
    case Collective::ReduceScatter:
      return work.algorithm == Algorithm::ByAllReduce
                 ? Collectively(with(reduce_scatter_by_all_reduce))
                 : reduce_scatter(work, context);
    case Collective::Broadcast:
      return with(broadcast);
    case Collective::AllToAll:
      return with(all_to_all);
    case Collective::SendReceive:
      return with(send_and_receive);
  }
  throw std::invalid_argument("no such collective");
}

}  // namespace chokepoint::probe::collective::gloo_module
