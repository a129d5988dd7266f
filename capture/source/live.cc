#include "capture/source/live.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/source/lanes.h"
#include "capture/source/network_interfaces.h"
#include "capture/source/source.h"
#include "capture/source/tap.h"

namespace chokepoint::capture::source {
namespace {

// An open tap and what is known about its interface.
struct OpenedTap {
  Tap tap;
  Interface interface;
};

constexpr std::chrono::milliseconds kTapPatience{100};

// One interface, read by the thread that calls read().
class SingleLive final : public LiveSource {
 public:
  SingleLive(OpenedTap opened, std::vector<std::string> remarks)
      : interfaces_{std::move(opened.interface)},
        remarks_(std::move(remarks)),
        reading_(std::move(opened.tap), 0, stop_, kTapPatience) {}

  Result<Progress> read(Batch& batch) override { return reading_.read(batch); }
  const std::vector<Interface>& interfaces() const override { return interfaces_; }
  std::vector<std::string> remarks() const override { return remarks_; }
  void stop() override { stop_.ask(); }
  Result<> narrow(const std::string& filter) override { return reading_.tap().narrow(filter); }

 private:
  StopFlag stop_;
  std::vector<Interface> interfaces_;
  std::vector<std::string> remarks_;
  TapReading reading_;
};

constexpr std::size_t kMaxBatches = 16;
constexpr std::chrono::milliseconds kArrivalPatience{100};

// Wakes the merging thread when any queue has something new.
class Arrivals {
 public:
  void notify() {
    {
      const std::scoped_lock hold(lock_);
      new_ = true;
    }
    arrived_.notify_one();
  }

  // Waits until notified since the last call, at most 100 ms.
  void wait() {
    std::unique_lock hold(lock_);
    arrived_.wait_for(hold, kArrivalPatience, [&] { return new_; });
    new_ = false;
  }

 private:
  std::mutex lock_;
  std::condition_variable arrived_;
  bool new_ = false;
};

// Batches from the thread of one interface, which calls fill() and end(), to the merging thread,
// which calls take(). Bounded; used batches are filled again. One lock per batch. If the queue is
// full, the filling thread waits, and the kernel's ring buffers the packets.
class BatchQueue {
 public:
  explicit BatchQueue(Arrivals& arrivals) : arrivals_(arrivals) {}

  // Exchanges a filled batch for an empty one; waits for a place. An empty batch takes no place:
  // only `complete_until` is passed on. False once closed.
  bool fill(Batch& batch, std::int64_t complete_until) {
    {
      std::unique_lock hold(lock_);
      place_.wait(hold, [&] { return closed_ || filled_.size() < kMaxBatches; });
      if (closed_) {
        return false;
      }
      complete_until_ = complete_until;
      if (!batch.frames.empty() || !batch.drops.empty()) {
        filled_.push_back(std::move(batch));
        batch = {};
        if (!empty_.empty()) {
          batch = std::move(empty_.back());
          empty_.pop_back();
        }
      }
    }
    arrivals_.notify();
    return true;
  }

  void end(Result<Progress> how) {
    {
      const std::scoped_lock hold(lock_);
      ended_ = std::move(how);
    }
    arrivals_.notify();
  }

  // Exchanges a used batch for a filled one.
  Result<Progress> take(Batch& batch) {
    const std::scoped_lock hold(lock_);
    if (filled_.empty()) {
      taken_until_ = complete_until_;
      return ended_.value_or(Progress::More);
    }
    empty_.push_back(std::move(batch));
    batch = std::move(filled_.front());
    filled_.pop_front();
    place_.notify_one();
    // Batches still in the queue may be earlier than complete_until_.
    taken_until_ = batch.frames.empty() ? taken_until_ : batch.frames.back().time_ns;
    return Progress::More;
  }

  std::int64_t complete_until() const { return taken_until_; }

  // Ends the filling thread's waiting, however full the queue is.
  void close() {
    {
      const std::scoped_lock hold(lock_);
      closed_ = true;
    }
    place_.notify_one();
  }

 private:
  Arrivals& arrivals_;
  std::mutex lock_;
  std::condition_variable place_;
  std::deque<Batch> filled_;
  std::vector<Batch> empty_;
  std::int64_t complete_until_ = INT64_MIN;
  std::int64_t taken_until_ = INT64_MIN;  // the merging thread's
  std::optional<Result<Progress>> ended_;
  bool closed_ = false;
};

// A quiet interface reports so this often, so that it does not hold up the others.
constexpr std::chrono::milliseconds kQuiet{20};

class LiveLane final : public Lane {
 public:
  LiveLane(OpenedTap opened, const StopFlag& stop, Arrivals& arrivals)
      : interfaces_{std::move(opened.interface)},
        reading_(std::move(opened.tap), 0, stop, kQuiet),
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

// Several interfaces, each read by its own thread, merged by time by the thread that calls read().
// The threads start with the first read() and end with the object.
class SeveralLive final : public LiveSource {
 public:
  SeveralLive(std::vector<OpenedTap> opened, std::vector<std::string> remarks)
      : remarks_(std::move(remarks)) {
    for (OpenedTap& one : opened) {
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
    // Nothing to return yet: try again once something has arrived.
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
      TRY(lane->narrow(filter));
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

constexpr const char* kNamed = "/run/netns";

std::string names_there() {
  std::string names;
  for (const std::string& name : sys::Root().list(kNamed)) {
    names += (names.empty() ? "there are " : ", ") + name;
  }
  return names.empty() ? "'ip netns add NAME' makes one" : names;
}

Error refused(const std::string& netns) {
  Error error = from_errno(errno, "enter network namespace", netns);
  if (error.kind == ErrorKind::Permission) {
    error.next_step =
        fmt::format("run it as root, or there: sudo ip netns exec {} chokepoint …", netns);
  }
  return error;
}

// As `ip netns exec` does: /sys shows the namespace of the process that mounted it. EBUSY: it
// already shows the right one.
Result<> enter(int descriptor, const std::string& netns) {
  const bool entered = setns(descriptor, CLONE_NEWNET) == 0 && unshare(CLONE_NEWNS) == 0 &&
                       mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
                       (mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0 || errno == EBUSY);
  return entered ? Result<>{} : fail(refused(netns));
}

// Runs `work` inside another network namespace, with a /sys that shows that one: on its own thread,
// so that this process stays in its namespace. Sockets opened there stay there. `netns`: a name of
// `ip netns`, or a path. Waits until `work` is done; needs CAP_SYS_ADMIN.
Result<> inside_namespace(const std::string& netns, const std::function<void()>& work) {
  const bool is_path = netns.find('/') != std::string::npos;
  const std::string path = is_path ? netns : std::string(kNamed) + "/" + netns;
  const sys::Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) {
    Error error = from_errno(errno, "enter network namespace", netns);
    error.next_step = names_there();
    return fail(std::move(error));
  }
  Result<> entered;

  std::thread([&] {
    entered = enter(descriptor.get(), netns);
    if (entered) {
      work();
    }
  }).join();
  return entered;
}

Result<OpenedTap> listen_to(const InterfaceFacts& facts, const LiveOptions& options) {
  const TapOptions tap_options{.snapshot_bytes = options.snapshot_bytes,
                               .ring_bytes = options.ring_bytes > 0
                                                 ? options.ring_bytes
                                                 : ring_size(facts, options.snapshot_bytes),
                               .filter = options.filter,
                               .promiscuous = options.promiscuous,
                               .time_scale = options.time_scale};
  TRY(auto tap, Tap::open(facts.name, tap_options, InterfaceDrops::of(options.root, facts.name)));
  Interface interface{.name = facts.name,
                      .link_type = tap.link_type(),
                      .snapshot_bytes = tap.snapshot_bytes(),
                      .mtu = facts.mtu};
  return OpenedTap{.tap = std::move(tap), .interface = std::move(interface)};
}

Result<std::unique_ptr<LiveSource>> open_here(const LiveOptions& options) {
  TRY(auto choice, choose_interfaces(read_interfaces(options.root), options.interfaces));
  std::vector<OpenedTap> opened;
  for (const InterfaceFacts& facts : choice.interfaces) {
    TRY(auto one, listen_to(facts, options));
    opened.push_back(std::move(one));
  }
  if (opened.empty()) {
    return fail(ErrorKind::NotFound, "listen", "any", "no interface is up",
                "'ip link' shows them; 'ip link set NAME up'");
  }
  if (opened.size() == 1) {
    return std::make_unique<SingleLive>(std::move(opened.front()), std::move(choice.remarks));
  }
  return std::make_unique<SeveralLive>(std::move(opened), std::move(choice.remarks));
}

}  // namespace

Result<std::unique_ptr<LiveSource>> open_live(const LiveOptions& options) {
  if (options.netns.empty()) {
    return open_here(options);
  }
  Result<std::unique_ptr<LiveSource>> opened;
  TRY(inside_namespace(options.netns, [&] { opened = open_here(options); }));
  return opened;
}

}  // namespace chokepoint::capture::source
