#include "capture/observer/analyser.h"

namespace chokepoint::capture::observer {

Analyser::Analyser(const flow::Limits& limits, const CaptureProgress& progress, GlooLedger& ledger,
                   FlowListener* listener)
    : engine_(limits),
      gloo_(ledger,
            [this](std::uint32_t slot, const GlooLedger::Connection& connection) {
              if (listener_ != nullptr) {
                listener_->on_gloo(*this, slot, connection);
              }
            }),
      contents_([this](std::uint32_t slot, traffic::Content content) {
        if (engine_.facts(slot).handshake_seen) {
          listener_->on_content(*this, slot, content);
        }
      }),
      progress_(progress),
      listener_(listener) {
  if (listener_ != nullptr) {
    engine_.on_fold([this](std::uint32_t slot, const flow::FlowFacts& facts) {
      marks_.end(slot);
      listener_->on_fold(*this, slot, facts);
    });
  }
}

void Analyser::take(const source::Drop& drop) {
  if (listener_ != nullptr) {
    listener_->on_drop(*this, drop);
  }
}

void Analyser::end_batch() {
  if (listener_ != nullptr) {
    listener_->after_batch(*this);
  }
  tasks_.run();
}

}  // namespace chokepoint::capture::observer
