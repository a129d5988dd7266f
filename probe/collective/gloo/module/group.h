// The connected ranks, and the one collective that was prepared for them. Throws gloo's exceptions.
// One thread; libgloo receives on one of its own for each device.
#pragma once

#include <gloo/context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "probe/collective/gloo/module/interface.h"

namespace chokepoint::probe::collective::gloo_module {

// Once, on the context and with the tag given.
using Collectively = std::function<void(const std::shared_ptr<::gloo::Context>&, std::uint32_t)>;

struct Group {
 public:
  Group(const Meeting& meeting, const StoreCalls& store);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  // Waits a moment for the other ranks: whoever closes first would break what they still do.
  ~Group();

  void prepare(const Work& work);
  // In microseconds.
  double run();

 private:
  // PyTorch has one for each interface that it was given, and takes them in turn.
  std::vector<std::shared_ptr<::gloo::Context>> contexts_;
  std::vector<Collectively> prepared_;
  std::uint32_t tag_ = 0;
  bool failed_ = false;
};

}  // namespace chokepoint::probe::collective::gloo_module
