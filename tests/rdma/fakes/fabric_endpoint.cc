#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tests/rdma/fakes/fabric_state.h"

namespace chokepoint::fakes {
namespace {

namespace verbs = rdma::verbs;
using verbs::Completion;

bool interrupted(int fd) {
  pollfd look{.fd = fd, .events = POLLIN, .revents = 0};
  return fd >= 0 && ::poll(&look, 1, 0) > 0;
}

class FakeEndpoint final : public verbs::Endpoint {
 public:
  FakeEndpoint(std::shared_ptr<FakeFabric::State> state, FabricDevice& device,
               const verbs::EndpointOptions& options)
      : state_(std::move(state)),
        device_(device),
        options_(options),
        pairs_(static_cast<std::size_t>(options.queues)) {
    address_.lid = device.what.port.lid;
    address_.gid = device.what.port.gids[static_cast<std::size_t>(options.gid_index)].gid;
    for (int i = 0; i < options.queues; ++i) {
      add(pairs_[static_cast<std::size_t>(i)], i);
    }
    ++device_.traffic.endpoints;
  }
  FakeEndpoint(const FakeEndpoint&) = delete;
  FakeEndpoint& operator=(const FakeEndpoint&) = delete;
  ~FakeEndpoint() override {
    const std::lock_guard hold(state_->lock);
    for (const FabricPair& pair : pairs_) {
      state_->pairs.erase(pair.number);
    }
    --device_.traffic.endpoints;
    state_->changed.notify_all();
  }

  const verbs::EndpointAddress& address() const override { return address_; }

  Result<> connect(const verbs::EndpointAddress& peer, const verbs::PathOptions& path) override {
    const std::lock_guard hold(state_->lock);
    if (device_.faults.connect) {
      return fail(*device_.faults.connect);
    }
    if (peer.queues.size() != pairs_.size()) {
      return fail(ErrorKind::Usage, "connect", device_.what.name,
                  fmt::format("{} queue pairs here, {} there", pairs_.size(), peer.queues.size()));
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      pairs_[i].peer = peer.queues[i].number;
      pairs_[i].waits_for_ever = path.rnr_retries == 7;
    }
    device_.traffic.connected.push_back(path);
    state_->changed.notify_all();
    return {};
  }

  Result<> lay_out_sends(int queue, std::span<const verbs::SendRequest> ring) override {
    const std::lock_guard hold(state_->lock);
    at(queue).send_ring.assign(ring.begin(), ring.end());
    return {};
  }
  Result<> lay_out_receives(int queue, std::span<const verbs::LocalMemory> ring) override {
    const std::lock_guard hold(state_->lock);
    at(queue).receive_ring.assign(ring.begin(), ring.end());
    return {};
  }

  int post_sends(int queue, std::size_t first, std::size_t count, bool signal) override {
    const std::lock_guard hold(state_->lock);
    FabricPair& pair = at(queue);
    if (device_.faults.post_errno) {
      return *device_.faults.post_errno;
    }
    if (!pair.peer || count == 0 || first + count > pair.send_ring.size()) {
      return EINVAL;
    }
    if (pair.outstanding + count > static_cast<std::size_t>(options_.send_depth)) {
      return ENOMEM;
    }
    for (std::size_t i = 0; i < count; ++i) {
      start(pair, first + i, signal && i + 1 == count);
    }
    count_posts(pair, count);
    deliver(*state_, pair);
    state_->changed.notify_all();
    return 0;
  }

  int post_receives(int queue, std::size_t first, std::size_t count) override {
    const std::lock_guard hold(state_->lock);
    FabricPair& pair = at(queue);
    if (count == 0 || first + count > pair.receive_ring.size()) {
      return EINVAL;
    }
    if (pair.posted_receives.size() + count > static_cast<std::size_t>(options_.receive_depth)) {
      return ENOMEM;
    }
    for (std::size_t i = 0; i < count; ++i) {
      pair.posted_receives.push_back(static_cast<std::uint32_t>(first + i));
    }
    ++device_.traffic.receive_posts;
    device_.traffic.receives_posted += count;
    if (FabricPair* peer = state_->pair(pair.peer); peer != nullptr) {
      deliver(*state_, *peer);
    }
    return 0;
  }

  int poll_sends(std::span<Completion> into) override { return poll(sends_, into, true); }
  int poll_receives(std::span<Completion> into) override { return poll(receives_, into, false); }
  Result<> wait_sends(const net::Patience& patience) override { return wait(sends_, patience); }
  Result<> wait_receives(const net::Patience& patience) override {
    return wait(receives_, patience);
  }

 private:
  FabricPair& at(int queue) { return pairs_.at(static_cast<std::size_t>(queue)); }

  void add(FabricPair& pair, int index) {
    pair.number = state_->next_pair++;
    pair.index = index;
    pair.options = options_;
    pair.device = &device_;
    pair.sends = &sends_;
    pair.receives = &receives_;
    state_->pairs[pair.number] = &pair;
    address_.queues.push_back({.number = pair.number, .first_packet = pair.number * 7});
  }

  void start(FabricPair& pair, std::size_t place, bool aloud) {
    Message message{.request = pair.send_ring[place],
                    .place = static_cast<std::uint32_t>(place),
                    .aloud = aloud,
                    .number = device_.traffic.messages++};
    if (message.request.inlined) {
      const verbs::LocalMemory& local = message.request.local;
      message.inlined.resize(local.bytes);
      std::memcpy(
          message.inlined.data(),
          reinterpret_cast<const void*>(local.address),  // NOLINT(performance-no-int-to-ptr)
          local.bytes);
    }
    message.ready = FabricClock::now() + device_.faults.delay;
    message.give_up = message.ready + state_->patience;
    pair.under_way.push_back(std::move(message));
  }

  void count_posts(FabricPair& pair, std::size_t count) {
    FakeTraffic& traffic = device_.traffic;
    ++traffic.posts;
    pair.outstanding += count;
    traffic.largest_outstanding =
        std::max<std::uint64_t>(traffic.largest_outstanding, pair.outstanding);
  }

  int poll(CompletionQueue& queue, std::span<Completion> into, bool sends) {
    if (queue.waiting == 0) {
      std::this_thread::yield();  // whom a real one waits for has a processor of its own
      return 0;
    }
    const std::lock_guard hold(state_->lock);
    std::size_t count = 0;
    for (; count < into.size() && !queue.entries.empty(); ++count) {
      const CompletionQueue::Entry& entry = queue.entries.front();
      into[count] = entry.completion;
      at(entry.completion.queue).outstanding -= entry.retires;
      queue.entries.pop_front();
    }
    queue.waiting = queue.entries.size();
    device_.traffic.completions += sends ? count : 0;
    return static_cast<int>(count);
  }

  Result<> wait(const CompletionQueue& queue, const net::Patience& patience) {
    if (!options_.events) {
      return fail(ErrorKind::Unsupported, "wait for a completion", device_.what.name, "no events");
    }
    std::unique_lock hold(state_->lock);
    while (queue.entries.empty()) {
      if (interrupted(patience.interrupt)) {
        return fail(ErrorKind::Interrupted, "wait for a completion", device_.what.name,
                    "interrupted");
      }
      if (patience.over()) {
        return fail(ErrorKind::Timeout, "wait for a completion", device_.what.name, "none came");
      }
      state_->changed.wait_for(hold, std::chrono::milliseconds(1));
    }
    return {};
  }

  std::shared_ptr<FakeFabric::State> state_;
  FabricDevice& device_;
  verbs::EndpointOptions options_;
  verbs::EndpointAddress address_;
  CompletionQueue sends_;
  CompletionQueue receives_;
  std::vector<FabricPair> pairs_;
};

}  // namespace

Result<std::unique_ptr<verbs::Endpoint>> open_fake_endpoint(
    const std::shared_ptr<FakeFabric::State>& state, FabricDevice& device,
    const verbs::EndpointOptions& options) {
  const std::lock_guard hold(state->lock);
  device.traffic.opened.push_back(options);
  if (device.faults.open_endpoint) {
    return fail(*device.faults.open_endpoint);
  }
  if (std::cmp_greater_equal(options.gid_index, device.what.port.gids.size())) {
    return fail(ErrorKind::NotFound, "open queue pairs", device.what.name,
                fmt::format("no GID {}", options.gid_index));
  }
  if (options.send_depth > device.what.limits.depth ||
      options.receive_depth > device.what.limits.depth) {
    return fail(ErrorKind::Usage, "open queue pairs", device.what.name,
                fmt::format("at most {} deep", device.what.limits.depth));
  }
  return std::make_unique<FakeEndpoint>(state, device, options);
}

}  // namespace chokepoint::fakes
