// Tensor parallel: every rank has a part of each layer. Each layer's activation is all-reduced in
// the forward pass and its gradient in the backward pass, and the next layer waits for it. At the
// end of the forward pass each rank's part of the output is gathered.
#include <vector>

#include "scripts/train/trainer/pattern.h"

namespace chokepoint::trainer {
namespace {

class TensorParallel : public Pattern {
 public:
  TensorParallel(Group& group, const Settings& settings)
      : group_(group),
        layers_(settings.pieces),
        activation_(settings.bytes / sizeof(float)),
        output_(activation_.size() * std::size_t(group.size())) {}

  bool step(StepClock& clock, bool is_last) override {
    activation_.front() = is_last ? 1.0F : 0.0F;
    pass(clock, kForward);
    const bool was_last = activation_.front() > 0;
    clock.communicate([&] { group_.all_gather(activation_, output_); });
    activation_.front() = 0;
    clock.be_late();
    pass(clock, kBackward);
    return was_last;
  }

 private:
  void pass(StepClock& clock, double share) {
    for (int layer = 0; layer < layers_; ++layer) {
      clock.compute(share / layers_);
      clock.communicate([&] { group_.all_reduce(activation_); });
    }
  }

  Group& group_;
  int layers_;
  Buffer activation_;
  Buffer output_;
};

}  // namespace

std::unique_ptr<Pattern> make_tensor_parallel(Group& group, const Settings& settings) {
  return std::make_unique<TensorParallel>(group, settings);
}

}  // namespace chokepoint::trainer
