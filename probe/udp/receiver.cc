#include "probe/udp/receiver.h"

#include <algorithm>

#include "probe/udp/data_socket.h"
#include "probe/udp/inbox.h"

namespace chokepoint::probe::udp {
namespace {

void publish(const FlowMeter& meter, ReceiveProgress& progress) {
  progress.packets.store(meter.sequence().counts().received, std::memory_order_relaxed);
  progress.bytes.store(meter.bytes(), std::memory_order_relaxed);
  progress.missing.store(meter.sequence().missing(), std::memory_order_relaxed);
}

class Ending {
 public:
  explicit Ending(const ReceiveEnd& end) : end_(end) {}

  bool reached(const FlowMeter& meter, std::int64_t now_ns) {
    if (end_.stop.load(std::memory_order_relaxed)) {
      return true;
    }
    const std::int64_t expected = end_.expected.load(std::memory_order_relaxed);
    if (expected < 0) {
      return false;
    }
    told_ns_ = told_ns_ == 0 ? now_ns : told_ns_;
    const std::int64_t quiet_since = std::max(told_ns_, meter.last_ns());
    return meter.sequence().counts().received >= static_cast<std::uint64_t>(expected) ||
           now_ns - quiet_since > end_.grace.count() || now_ns - told_ns_ > end_.most.count();
  }

 private:
  const ReceiveEnd& end_;
  std::int64_t told_ns_ = 0;
};

}  // namespace

Result<> receive_stream(int fd, FlowMeter& meter, const ReceiveEnd& end,
                        ReceiveProgress& progress) {
  Inbox inbox(fd);
  Ending ending(end);
  meter.begin(queue_drops(fd).value_or(0));
  do {
    TRY(const std::size_t messages, inbox.receive());
    for (std::size_t i = 0; i < messages; ++i) {
      meter.add(inbox.message(i));
    }
    publish(meter, progress);
  } while (!ending.reached(meter, inbox.now_ns()));
  meter.finish(queue_drops(fd).value_or(0));
  return {};
}

}  // namespace chokepoint::probe::udp
