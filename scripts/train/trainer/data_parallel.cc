// Data parallel: every rank has the whole model. In the backward pass a bucket of gradients is
// ready after each share of it, and is all-reduced while the next share is computed.
//
//   compute   forward │ backward 1 │ backward 2 │ backward 3 │ wait
//   exchange                       │ bucket 1     │ bucket 2     │ bucket 3
#include <vector>

#include "scripts/train/trainer/exchanger.h"
#include "scripts/train/trainer/pattern.h"

namespace chokepoint::trainer {
namespace {

class DataParallel : public Pattern {
 public:
  DataParallel(Group& group, const Settings& settings) : group_(group) {
    const auto each = settings.bytes / sizeof(float) / std::size_t(settings.pieces);
    buckets_.assign(std::size_t(settings.pieces), Buffer(each));
  }

  bool step(StepClock& clock, bool is_last) override {
    buckets_.front().front() = is_last ? 1.0F : 0.0F;
    clock.compute(kForward);
    clock.be_late();
    for (auto& bucket : buckets_) {
      clock.compute(kBackward / double(buckets_.size()));
      exchanger_.hand_over([&] { clock.communicate([&] { group_.all_reduce(bucket); }); });
    }
    exchanger_.wait();
    return buckets_.front().front() > 0;
  }

 private:
  Group& group_;
  std::vector<Buffer> buckets_;
  Exchanger exchanger_;
};

}  // namespace

std::unique_ptr<Pattern> make_data_parallel(Group& group, const Settings& settings) {
  return std::make_unique<DataParallel>(group, settings);
}

}  // namespace chokepoint::trainer
