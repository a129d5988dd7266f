// Pipeline parallel: every rank has some consecutive layers, a stage. A step's batch passes in
// micro-batches: all forward, then all backward. What a stage will receive is announced when the
// step begins, so a neighbour may send as soon as it has something.
//
//   stage 0   F1 F2 F3 ·  ·  B3 B2 B1
//   stage 1   ·  F1 F2 F3 B3 B2 B1 ·
#include <vector>

#include "scripts/train/trainer/pattern.h"

namespace chokepoint::trainer {
namespace {

class PipelineParallel : public Pattern {
 public:
  PipelineParallel(Group& group, const Settings& settings)
      : group_(group), is_forward_only_(settings.forward_only) {
    const auto each = settings.bytes / sizeof(float) / std::size_t(settings.pieces);
    const Batches empty(std::size_t(settings.pieces), Buffer(each));
    in_ = out_ = gradients_in_ = gradients_out_ = empty;
  }

  bool step(StepClock& clock, bool is_last) override {
    auto activations = is_first() ? Transfers{} : receives(in_, group_.rank() - 1);
    auto gradients = is_forward_only_ || is_last_stage()
                         ? Transfers{}
                         : receives(gradients_in_, group_.rank() + 1);
    is_over_ = is_last;
    auto sent = forward(clock, activations);
    clock.be_late();
    finish(clock, sent);
    if (!is_forward_only_) {
      sent = backward(clock, gradients);
      finish(clock, sent);
    }
    return is_over_;
  }

 private:
  using Batches = std::vector<Buffer>;
  using Transfers = std::vector<Transfer>;

  Transfers receives(Batches& batches, int from) {
    Transfers begun;
    for (std::size_t number = 0; number < batches.size(); ++number) {
      begun.push_back(group_.receive(batches[number], from, number));
    }
    return begun;
  }

  Transfers forward(StepClock& clock, const Transfers& activations) {
    Transfers sent;
    for (std::size_t number = 0; number < in_.size(); ++number) {
      compute_one(clock, activations, number, is_forward_only_ ? 1 : kForward);
      is_over_ = is_over_ || in_[number].front() > 0;
      out_[number].front() = is_over_ ? 1.0F : 0.0F;
      if (!is_last_stage()) {
        sent.push_back(group_.send(out_[number], group_.rank() + 1, number));
      }
    }
    return sent;
  }

  Transfers backward(StepClock& clock, const Transfers& gradients) {
    Transfers sent;
    for (std::size_t number = 0; number < in_.size(); ++number) {
      compute_one(clock, gradients, number, kBackward);
      if (!is_first()) {
        sent.push_back(group_.send(gradients_out_[number], group_.rank() - 1, number));
      }
    }
    return sent;
  }

  // A micro-batch of a pass: waits for it where it comes from somebody, and computes.
  void compute_one(StepClock& clock, const Transfers& awaited, std::size_t number, double share) {
    if (!awaited.empty()) {
      clock.communicate([&] { awaited[number]->waitRecv(); });
    }
    clock.compute(share / double(in_.size()));
  }

  bool is_first() const { return group_.rank() == 0; }
  bool is_last_stage() const { return group_.rank() == group_.size() - 1; }

  static void finish(StepClock& clock, Transfers& sent) {
    for (const auto& transfer : sent) {
      clock.communicate([&] { transfer->waitSend(); });
    }
    sent.clear();
  }

  Group& group_;
  bool is_forward_only_;
  bool is_over_ = false;  // this step is the last one
  Batches in_;
  Batches out_;
  Batches gradients_in_;
  Batches gradients_out_;
};

}  // namespace

std::unique_ptr<Pattern> make_pipeline_parallel(Group& group, const Settings& settings) {
  return std::make_unique<PipelineParallel>(group, settings);
}

}  // namespace chokepoint::trainer
