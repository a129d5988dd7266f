#include "scripts/train/trainer/registered.h"

#include <utility>
#include <vector>

namespace chokepoint::trainer {

void Registered::Barrier::run() {
  BarrierAllToAll::run();
  for (const auto& sent : sendBuffers_) {
    sent->waitSend();
  }
}

Registered::Registered(std::shared_ptr<gloo::Context> context)
    : context_(std::move(context)), barrier_(context_) {}

void Registered::all_reduce(std::span<float> data) {
  auto& known = all_reduces_[data.data()];
  if (!known) {
    known =
        std::make_unique<AllReduce>(context_, std::vector<float*>{data.data()}, int(data.size()));
  }
  known->run();
}

void Registered::meet() { barrier_.run(); }

}  // namespace chokepoint::trainer
