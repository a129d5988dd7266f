// Collectives over buffers that are registered once and used again and again: all that Gloo's verbs
// can do, which know nothing of the buffers of its newer collectives. A buffer is known by its
// place, so it must stay where it is. Ranks come with their buffers in the same order. One thread
// at a time.
#pragma once

#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/context.h>

#include <map>
#include <memory>
#include <span>

namespace chokepoint::trainer {

class Registered {
 public:
  explicit Registered(std::shared_ptr<gloo::Context> context);

  void all_reduce(std::span<float> data);
  void meet();

 private:
  using AllReduce = gloo::AllreduceRingChunked<float>;

  // Over when what this rank has sent is acknowledged, too: whoever leaves may drop its buffers.
  class Barrier : public gloo::BarrierAllToAll {
   public:
    using BarrierAllToAll::BarrierAllToAll;
    void run();
  };

  std::shared_ptr<gloo::Context> context_;
  std::map<const float*, std::unique_ptr<AllReduce>> all_reduces_;
  Barrier barrier_;
};

}  // namespace chokepoint::trainer
