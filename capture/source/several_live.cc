#include "capture/source/several_live.h"

#include <thread>
#include <utility>

#include "capture/source/batch_queue.h"
#include "capture/source/lanes.h"
#include "capture/source/tap_reading.h"

namespace chokepoint::capture::source {
namespace {

// A quiet interface says so this often, that it does not hold the others up.
constexpr std::chrono::milliseconds kQuiet{20};

class LiveLane final : public Lane {
 public:
  LiveLane(ListenedTo listened_to, const StopFlag& stop, Arrivals& arrivals)
      : interfaces_{std::move(listened_to.interface)},
        reading_(std::move(listened_to.tap), 0, stop, kQuiet),
        queue_(arrivals) {}
  LiveLane(const LiveLane&) = delete;
  LiveLane& operator=(const LiveLane&) = delete;
  ~LiveLane() override { queue_.close(); }

  Result<Progress> refill(Batch& batch) override {
    if (!thread_.joinable()) {
      thread_ = std::jthread([this] { fill(); });
    }
    return queue_.take(batch);
  }
  std::int64_t complete_until() const override { return queue_.complete_until(); }
  Result<> narrow(const std::string& filter) const { return reading_.tap().narrow(filter); }
  const std::vector<Interface>& interfaces() const override { return interfaces_; }

 private:
  void fill() {
    Batch batch;
    for (;;) {
      auto progress = reading_.read(batch);
      const bool goes_on = queue_.fill(batch, reading_.complete_until());
      if (!progress || *progress == Progress::End) {
        queue_.end(std::move(progress));
        return;
      }
      if (!goes_on) {
        return;
      }
    }
  }

  std::vector<Interface> interfaces_;
  TapReading reading_;
  BatchQueue queue_;
  std::jthread thread_;
};

class SeveralLive final : public LiveSource {
 public:
  SeveralLive(std::vector<ListenedTo> listened_to, std::vector<std::string> remarks)
      : remarks_(std::move(remarks)) {
    for (ListenedTo& one : listened_to) {
      auto lane = std::make_unique<LiveLane>(std::move(one), stop_, arrivals_);
      all_.push_back(lane.get());
      lanes_.add(std::move(lane));
    }
  }
  SeveralLive(const SeveralLive&) = delete;
  SeveralLive& operator=(const SeveralLive&) = delete;
  ~SeveralLive() override { stop_.ask(); }

  Result<Progress> read(Batch& batch) override {
    auto progress = lanes_.read(batch);
    // Nothing to hand out yet: once more, when something has come.
    if (progress && *progress == Progress::More && batch.frames.empty() && batch.drops.empty()) {
      arrivals_.wait();
      progress = lanes_.read(batch);
    }
    if (lanes_.any_failed()) {
      stop_.ask();
    }
    return progress;
  }

  const std::vector<Interface>& interfaces() const override { return lanes_.interfaces(); }
  std::vector<std::string> remarks() const override { return remarks_; }
  void stop() override { stop_.ask(); }
  Result<> narrow(const std::string& filter) override {
    for (const LiveLane* lane : all_) {
      if (Result<> narrowed = lane->narrow(filter); !narrowed) {
        return narrowed;
      }
    }
    return {};
  }

 private:
  StopFlag stop_;
  Arrivals arrivals_;
  std::vector<std::string> remarks_;
  Lanes lanes_;
  std::vector<LiveLane*> all_;  // owned by lanes_
};

}  // namespace

std::unique_ptr<LiveSource> several_live(std::vector<ListenedTo> listened_to,
                                         std::vector<std::string> remarks) {
  return std::make_unique<SeveralLive>(std::move(listened_to), std::move(remarks));
}

}  // namespace chokepoint::capture::source
