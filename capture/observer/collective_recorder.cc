#include "capture/observer/collective_recorder.h"

#include <algorithm>

#include "capture/gloo/arrival.h"
#include "capture/gloo/record_kind.h"

namespace chokepoint::capture::observer {

CollectiveRecorder::CollectiveRecorder(record::Writer& writer, const ConnectionFlows& flows,
                                       std::int64_t wall_to_monotonic_ns)
    : producer_(writer.producer("collectives")),
      flows_(flows),
      wall_to_monotonic_ns_(wall_to_monotonic_ns) {}

record::Collective CollectiveRecorder::keep(const gloo::Collective& collective) {
  const record::Collective row = row_of(collective);
  producer_.push(row);
  return row;
}

record::Collective CollectiveRecorder::row_of(const gloo::Collective& collective) const {
  record::Collective row{.start_ns = collective.start_ns + wall_to_monotonic_ns_,
                         .end_ns = collective.end_ns + wall_to_monotonic_ns_,
                         .number = collective.number,
                         .kind = gloo::kind_in_record(collective.kind, collective.is_send)};
  row.communicator = collective.group;
  row.bytes = collective.sent_bytes() + collective.received_bytes();
  const gloo::Arrival arrival = gloo::arrival_at(collective);
  row.own_ready_ns = monotonic(arrival.own_ns);
  row.peer_ready_ns = monotonic(arrival.peer_ns);
  row.first_data_ns = monotonic(arrival.first_data_ns);
  row.last_data_ns = monotonic(arrival.last_data_ns);
  if (arrival.are_both_known()) {
    row.waited_ns = std::max<std::int64_t>(arrival.peer_ns - arrival.own_ns, 0);
    row.kept_waiting_ns = std::max<std::int64_t>(arrival.own_ns - arrival.peer_ns, 0);
  }
  row.flow = flows_.flow(arrival.last_peer);
  return row;
}

record::Figure CollectiveRecorder::monotonic(std::int64_t wall_ns) const {
  return wall_ns == 0 ? record::Figure() : record::Figure(wall_ns + wall_to_monotonic_ns_);
}

}  // namespace chokepoint::capture::observer
