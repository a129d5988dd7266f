#include "capture/gloo/arrival.h"

#include <algorithm>
#include <limits>

namespace chokepoint::capture::gloo {
namespace {

// Data that comes this long after one side was ready waited for the other side.
constexpr std::int64_t kMinWaitNs = 5'000'000;

std::int64_t earlier(std::int64_t one, std::int64_t other) {
  return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
}

std::int64_t first_data_ns(const Share& share) {
  return earlier(share.sent.first_data_ns, share.received.first_data_ns);
}

std::int64_t came_ns(const Share& share, const DirectionTraffic& traffic) {
  const std::int64_t ready = ready_ns(traffic);
  const std::int64_t data = first_data_ns(share);
  return data != 0 && ready > data ? 0 : ready;
}

// The latest time at which a neighbour whose ready message was not seen can have arrived.
std::int64_t latest_ns(const Share& share) {
  const std::int64_t data = first_data_ns(share);
  return data == 0 ? std::numeric_limits<std::int64_t>::max() : data;
}

void find_last_peer(const Collective& collective, Arrival& arrival) {
  std::int64_t unseen_until = 0;
  for (const Share& share : collective.shares) {
    const std::int64_t came = came_ns(share, share.received);
    if (came == 0) {
      unseen_until = std::max(unseen_until, latest_ns(share));
    } else if (came > arrival.peer_ns) {
      arrival.peer_ns = came;
      arrival.last_peer = share.connection;
    }
  }
  if (unseen_until > arrival.peer_ns) {
    arrival.peer_ns = 0;
    arrival.last_peer = Collectives::kNoConnection;
  }
  if (collective.shares.size() == 1) {
    arrival.last_peer = collective.shares.front().connection;
  }
}

// Of the neighbours whose ready message was not seen, the one whose data came last; null if one has
// no data, which may arrive even later.
const Share* last_unseen(const Collective& collective) {
  const Share* last = nullptr;
  for (const Share& share : collective.shares) {
    if (came_ns(share, share.received) != 0) {
      continue;
    }
    if (first_data_ns(share) == 0) {
      return nullptr;
    }
    last = last == nullptr || first_data_ns(share) > first_data_ns(*last) ? &share : last;
  }
  return last;
}

std::int64_t own_by_ns(const Collective& collective) {
  std::int64_t by_ns = 0;
  for (const Share& share : collective.shares) {
    by_ns = earlier(by_ns, share.sent.hidden_by_ns);
  }
  return by_ns;
}

std::int64_t peers_by_ns(const Collective& collective) {
  std::int64_t by_ns = 0;
  for (const Share& share : collective.shares) {
    const std::int64_t came = came_ns(share, share.received);
    const std::int64_t came_by = came != 0 ? came : share.received.hidden_by_ns;
    if (came_by == 0) {
      return 0;
    }
    by_ns = std::max(by_ns, came_by);
  }
  return by_ns;
}

void take_upper_bounds(const Collective& collective, Arrival& arrival) {
  if (arrival.own_ns == 0 && own_by_ns(collective) <= arrival.peer_ns) {
    arrival.own_ns = own_by_ns(collective);
  } else if (arrival.peer_ns == 0 && peers_by_ns(collective) <= arrival.own_ns) {
    arrival.peer_ns = peers_by_ns(collective);
  }
}

// If one side was ready long before any data moved, the other side arrived when data began to move.
void take_from_data(const Collective& collective, Arrival& arrival) {
  if (arrival.own_ns == 0 && arrival.peer_ns != 0) {
    arrival.own_ns =
        arrival.first_data_ns > arrival.peer_ns + kMinWaitNs ? arrival.first_data_ns : 0;
  } else if (arrival.peer_ns == 0 && arrival.own_ns != 0) {
    const Share* last = last_unseen(collective);
    const std::int64_t data_ns = last == nullptr ? 0 : first_data_ns(*last);
    if (data_ns > arrival.own_ns + kMinWaitNs) {
      arrival.peer_ns = data_ns;
      arrival.last_peer = last->connection;
    }
  }
}

}  // namespace

Arrival arrival_at(const Collective& collective) {
  Arrival arrival;
  for (const Share& share : collective.shares) {
    arrival.own_ns = earlier(arrival.own_ns, came_ns(share, share.sent));
    arrival.first_data_ns = earlier(arrival.first_data_ns, first_data_ns(share));
    arrival.last_data_ns =
        std::max({arrival.last_data_ns, share.sent.last_data_ns, share.received.last_data_ns});
  }
  find_last_peer(collective, arrival);
  take_upper_bounds(collective, arrival);
  take_from_data(collective, arrival);
  return arrival;
}

}  // namespace chokepoint::capture::gloo
