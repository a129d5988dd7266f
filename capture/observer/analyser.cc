#include "capture/observer/analyser.h"

namespace chokepoint::capture::observer {

Analyser::Analyser(const flow::Limits& limits, const CaptureProgress& course, GlooLedger& ledger,
                   FlowListener* listener)
    : engine_(limits),
      gloo_(ledger,
            [this](std::uint32_t slot, std::uint32_t connection) {
              if (witness_ != nullptr) {
                witness_->on_gloo(*this, slot, connection);
              }
            }),
      course_(course),
      witness_(listener) {
  if (witness_ != nullptr) {
    engine_.on_fold([this](std::uint32_t slot, const flow::FlowFacts& facts) {
      marks_.end(slot);
      witness_->on_fold(*this, slot, facts);
    });
  }
}

void Analyser::take(const source::Drop& drop) {
  if (witness_ != nullptr) {
    witness_->on_drop(*this, drop);
  }
}

void Analyser::end_batch() {
  if (witness_ != nullptr) {
    witness_->after_batch(*this);
  }
  errands_.run();
}

}  // namespace chokepoint::capture::observer
