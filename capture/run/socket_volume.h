// The job's volume where its packets cannot be seen: what its sockets sent and received, and the
// headers that this took on the wire. An estimate, and the record says so by its source. One
// thread; the writer outlives it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/record/writer.h"
#include "capture/live/figures.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::run {

class SocketVolume {
 public:
  explicit SocketVolume(record::Writer& writer) : writer_(writer) {}

  live::Volume keep(const socket::Figures& figures, std::int64_t now_ns);

 private:
  struct Kept {
    record::Producer producer;
    std::int64_t sent_series = 0;
    std::int64_t received_series = 0;
  };

  record::Writer& writer_;
  std::optional<Kept> kept_;
};

}  // namespace chokepoint::capture::run
