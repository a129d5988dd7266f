#include "capture/counter/throttle_log.h"

#include <fmt/format.h>

#include "base/host/gpu.h"
#include "base/record/names.h"

namespace chokepoint::capture::counter {

namespace {

// A throttle reason that has been absent for so long has ended: a judgement.
constexpr std::int64_t kReasonEndNs = 5'000'000'000;

}  // namespace

void ThrottleLog::see(std::int64_t t_ns, std::uint64_t bits, Sink& sink) {
  for (const host::ThrottleReason& reason : host::throttle_reasons()) {
    if (reason.slows && (bits & reason.bit) != 0) {
      hold(t_ns, reason.name, sink);
    }
  }
  end_old(t_ns, sink);
  before_ns_ = t_ns;
}

void ThrottleLog::hold(std::int64_t t_ns, std::string_view reason, Sink& sink) {
  const auto [place, is_new] = periods_.try_emplace(reason);
  if (is_new) {
    sink.event(t_ns, record::kGpuThrottled, gpu_,
               fmt::format(R"({{"reason":"{}","state":"began"}})", reason));
  }
  Period& period = place->second;
  period.held_ns += before_ns_ > 0 ? t_ns - before_ns_ : 0;
  period.last_ns = t_ns;
}

void ThrottleLog::end_old(std::int64_t t_ns, Sink& sink) {
  std::erase_if(periods_, [&](const auto& entry) {
    const auto& [reason, period] = entry;
    if (t_ns - period.last_ns < kReasonEndNs) {
      return false;
    }
    sink.event(period.last_ns, record::kGpuThrottled, gpu_,
               fmt::format(R"({{"reason":"{}","state":"ended","held_s":{:.3f}}})", reason,
                           static_cast<double>(period.held_ns) / 1e9));
    return true;
  });
}

}  // namespace chokepoint::capture::counter
