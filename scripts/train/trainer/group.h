// This rank's place among the others, and the collectives they perform together. Each call waits
// for its end, and throws gloo's own exceptions where a peer is gone. One thread at a time.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scripts/train/trainer/settings.h"

namespace chokepoint::trainer {

using Buffer = std::vector<float>;
using Transfer = std::unique_ptr<gloo::transport::UnboundBuffer>;

class Registered;

class Group {
 public:
  // Meets the others by files in a folder that all of them see.
  explicit Group(const Settings& settings);
  ~Group();

  int rank() const { return context_->rank; }
  int size() const { return context_->size; }

  // In place: the sum over all ranks.
  void all_reduce(std::span<float> data);
  // What each rank has of it, one after the other. `all` has size() times as many elements.
  void all_gather(std::span<float> own, std::span<float> all);

  // Until all ranks are here, and so have what was sent to them.
  void meet();

  // Begun; over after waitSend() or waitRecv(). The tag tells apart what is under way at once.
  Transfer send(std::span<float> data, int to, std::uint64_t tag);
  Transfer receive(std::span<float> data, int from, std::uint64_t tag);

 private:
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<Registered> registered_;  // over verbs, else none
  std::uint32_t tag_ = 0;
};

}  // namespace chokepoint::trainer
