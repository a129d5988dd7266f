#include "capture/job/output_watch.h"

#include <utility>

namespace chokepoint::capture::job {

Result<OutputWatch> OutputWatch::open(const sys::Clock& clock) {
  OutputWatch watch;
  Result<std::vector<OutputChannel>> channels = open_output_channels();
  if (!channels) {
    return watch;
  }
  watch.channels_ = *std::move(channels);
  for (OutputChannel& channel : watch.channels_) {
    Result<Relay> relay = Relay::start(channel, clock);
    if (!relay) {
      return std::unexpected(relay.error());
    }
    watch.relays_.push_back(*std::move(relay));
  }
  return watch;
}

void OutputWatch::connect(sys::Spawn& spawn) const {
  for (const OutputChannel& channel : channels_) {
    if (channel.stream == Stream::Out) {
      spawn.out = channel.job_end.get();
    }
    if (channel.stream == Stream::Err || channel.is_shared) {
      spawn.err = channel.job_end.get();
    }
  }
}

std::vector<Relay> OutputWatch::release() {
  channels_.clear();
  return std::move(relays_);
}

}  // namespace chokepoint::capture::job
