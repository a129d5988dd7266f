#include "probe/pcie/stopwatch.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/math/statistics.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr int kWarmUps = 4;
constexpr int kLeastBatches = 3;
constexpr double kLongestBatchMs = 1000;  // nobody waits longer for a stop
constexpr int kMostCopies = 2000;         // in a batch: a driver's queue is finite
constexpr double kNsPerMs = 1e6;
constexpr double kBitsPerByte = 8;

// Says so while copies are under way.
class Copying {
 public:
  explicit Copying(std::atomic<bool>* flag) : flag_(flag) { set(true); }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;
  ~Copying() { set(false); }

 private:
  void set(bool value) {
    if (flag_ != nullptr) {
      *flag_ = value;
    }
  }
  std::atomic<bool>* flag_;
};

// The events around a batch, made once.
class Batch {
 public:
  static Result<Batch> make(std::span<const Lane> lanes) {
    TRY(auto start, gpu::Event::make(lanes.front().stream->gpu()));
    Batch batch(lanes, std::move(start));
    for (const Lane& lane : lanes) {
      TRY(auto end, gpu::Event::make(lane.stream->gpu()));
      batch.ends_.push_back(std::move(end));
    }
    return batch;
  }

  // The milliseconds from the start to the end of the last lane.
  Result<double> run(int copies) {
    auto done = begin();
    for (int copy = 0; done && copy < copies; ++copy) {
      done = copy_once();
    }
    for (std::size_t lane = 0; done && lane < lanes_.size(); ++lane) {
      done = lanes_[lane].stream->record(ends_[lane]);
    }
    return done ? finish() : fail(std::move(done.error()));
  }

 private:
  Batch(std::span<const Lane> lanes, gpu::Event start) : lanes_(lanes), start_(std::move(start)) {}

  Result<> begin() {
    auto done = lanes_.front().stream->record(start_);
    for (std::size_t lane = 1; done && lane < lanes_.size(); ++lane) {
      done = lanes_[lane].stream->wait_for(start_);
    }
    return done;
  }

  Result<> copy_once() {
    Result<> done;
    for (std::size_t lane = 0; done && lane < lanes_.size(); ++lane) {
      done = lanes_[lane].copy();
    }
    return done;
  }

  Result<double> finish() {
    double longest = 0;
    for (const gpu::Event& end : ends_) {
      TRY(end.finish());
      const auto taken = end.milliseconds_since(start_);
      if (!taken) {
        return taken;
      }
      longest = std::max(longest, *taken);
    }
    return longest;
  }

  std::span<const Lane> lanes_;
  gpu::Event start_;
  std::vector<gpu::Event> ends_;
};

std::unexpected<Error> stopped() {
  return fail(ErrorKind::Interrupted, "measure copies", "", "stopped");
}

struct Plan {
  int copies = 1;  // a batch
  int batches = kLeastBatches;
};

Plan plan_of(std::chrono::nanoseconds time, double copy_ms) {
  const double whole_ms = static_cast<double>(time.count()) / kNsPerMs;
  const int batches =
      std::max(kLeastBatches, static_cast<int>(std::ceil(whole_ms / kLongestBatchMs)));
  const double copies = copy_ms > 0 ? whole_ms / batches / copy_ms : 1;
  return {.copies = static_cast<int>(std::clamp(copies, 1.0, double{kMostCopies})),
          .batches = batches};
}

}  // namespace

Result<double> measure(std::span<const Lane> lanes, std::uint64_t bytes, const Pace& pace) {
  TRY(auto batch, Batch::make(lanes));
  const Copying copying(pace.copying);
  const auto warm = batch.run(kWarmUps);
  if (!warm) {
    return warm;
  }
  const Plan plan = plan_of(pace.time, *warm / kWarmUps);
  std::vector<double> rates;
  for (int i = 0; i < plan.batches; ++i) {
    if (pace.stopped()) {
      return stopped();
    }
    const auto taken = batch.run(plan.copies);
    if (!taken) {
      return taken;
    }
    const double bits =
        static_cast<double>(bytes) * kBitsPerByte * plan.copies * static_cast<double>(lanes.size());
    if (*taken > 0) {
      rates.push_back(bits / *taken / 1000);
    }
  }
  const auto median = math::median(rates);
  return median ? Result<double>(*median)
                : fail(ErrorKind::Io, "measure copies", lanes.front().stream->gpu().name(),
                       "took no time that its events could tell", "larger --bytes");
}

}  // namespace chokepoint::probe::pcie
