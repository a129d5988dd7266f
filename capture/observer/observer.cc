#include "capture/observer/observer.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace chokepoint::capture::observer {

namespace {

// Enough that a short delay of one thread does not delay the other; more would pass through a cache
// further away.
constexpr std::uint32_t kBatches = 4;

flow::Limits share_of(flow::Limits limits, std::size_t analysers) {
  limits.flows = std::max<std::size_t>(limits.flows / analysers, 1);
  limits.detail_bytes /= analysers;
  return limits;
}

}  // namespace

// Symmetric: sums do not distinguish source and destination.
std::size_t spread(const packet::Packet& packet, std::size_t analysers) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  const packet::Ends& ends = packet.ends;
  std::uint64_t mixed = ends.source.words[0] + ends.destination.words[0];
  mixed = mixed * kGolden + ends.source.words[1] + ends.destination.words[1];
  if (packet.kind != packet::Kind::Roce) {
    mixed += std::uint64_t{ends.source_port} + ends.destination_port;
  }
  mixed *= kGolden;
  return static_cast<std::size_t>((mixed >> 32U) * analysers >> 32U);
}

void PacketBatch::decode(packet::Decoder& decoder, std::size_t analysers) {
  const std::size_t count = batch.frames.size();
  if (packets.size() < count) {
    packets.resize(count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    decoder.decode(batch.frames[i], packets[i]);
  }
  owners.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    owners[i] = static_cast<std::uint8_t>(spread(packets[i], analysers));
  }
}

Result<std::unique_ptr<Observer>> Observer::make(std::unique_ptr<source::Source> source,
                                                 const Settings& settings,
                                                 const FlowListenerFactory& listener_factory,
                                                 Keep keep) {
  sys::Descriptor over(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!over) {
    return chokepoint::fail(from_errno(errno, "open", "eventfd"));
  }
  return std::unique_ptr<Observer>(new Observer(std::move(source), settings, listener_factory,
                                                std::move(keep), std::move(over)));
}

Observer::Observer(std::unique_ptr<source::Source> source, const Settings& settings,
                   const FlowListenerFactory& listener_factory, Keep keep, sys::Descriptor over)
    : source_(std::move(source)),
      settings_(settings),
      keep_(std::move(keep)),
      decoder_(settings.tunnels),
      gloo_(settings.own_addresses, settings.on_collective, settings.joining, settings.on_waiting,
            settings.on_part),
      over_(std::move(over)) {
  const std::size_t analysers = std::max<std::size_t>(settings.threads, 2) - 1;
  for (std::size_t i = 0; i < analysers; ++i) {
    analysers_.push_back(
        std::make_unique<Analyser>(share_of(settings.limits, analysers), progress_, gloo_,
                                   listener_factory ? listener_factory(i) : nullptr));
  }
  if (settings.threads > 1) {
    relay_ = std::make_unique<Relay<PacketBatch>>(kBatches, analysers);
  }
}

Observer::~Observer() {
  stop();
  static_cast<void>(join());
}

void Observer::begin(const char* name, std::function<void()> work) {
  threads_.emplace_back(std::move(work));
  pthread_setname_np(threads_.back().native_handle(), name);
}

void Observer::start() {
  if (!relay_) {
    running_ = 1;
    begin("packets", [this] { read_and_analyse(); });
    return;
  }
  running_ = 1 + analysers_.size();
  for (std::size_t i = 0; i < analysers_.size(); ++i) {
    begin("packets", [this, i] { analyse(i); });
  }
  begin("packet reader", [this] { read_for_others(); });
}

void Observer::stop() {
  if (settings_.stop_source) {
    settings_.stop_source();
  } else {
    stop_ = true;
  }
}

Result<> Observer::join() {
  for (std::thread& thread : threads_) {
    thread.join();
  }
  if (!threads_.empty()) {
    gloo_.finish();
  }
  threads_.clear();
  return error_ ? Result<>(std::unexpected(*error_)) : Result<>();
}

bool Observer::inspect(const std::function<void(const Analyser& analyser)>& look,
                       std::chrono::milliseconds deadline) {
  for (const std::unique_ptr<Analyser>& analyser : analysers_) {
    if (running_ == 0) {
      look(*analyser);
    } else if (!analyser->tasks().ask([&] { look(*analyser); }, deadline)) {
      return false;
    }
  }
  return true;
}

void Observer::read_and_analyse() {
  Analyser& analyser = *analysers_.front();
  source::Batch batch;
  for (bool more = true; more;) {
    more = read(batch);
    decode_and_analyse(batch, analyser);
    analyser.end_batch();
  }
  analyser.finish();
  end_thread();
}

void Observer::decode_and_analyse(const source::Batch& batch, Analyser& analyser) {
  packet::Packet packet;
  for (const packet::Frame& frame : batch.frames) {
    decoder_.decode(frame, packet);
    analyser.take(packet);
  }
  for (const source::Drop& drop : batch.drops) {
    analyser.take(drop);
  }
}

void Observer::read_for_others() {
  for (bool more = true; more;) {
    PacketBatch& packets = relay_->fill();
    more = read(packets.batch);
    if (analysers_.size() > 1) {
      packets.decode(decoder_, analysers_.size());
    }
    relay_->give();
  }
  relay_->close();
  end_thread();
}

void Observer::analyse(std::size_t index) {
  Analyser& analyser = *analysers_[index];
  while (const PacketBatch* packets = relay_->next(index)) {
    if (analysers_.size() == 1) {
      decode_and_analyse(packets->batch, analyser);
    } else {
      analyse_own(*packets, index);
    }
    relay_->release(index);
    analyser.end_batch();
  }
  analyser.finish();
  end_thread();
}

void Observer::analyse_own(const PacketBatch& packets, std::size_t index) {
  Analyser& analyser = *analysers_[index];
  for (std::size_t i = 0; i < packets.batch.frames.size(); ++i) {
    if (packets.owners[i] == index) {
      analyser.take(packets.packets[i]);
    }
  }
  if (index == 0) {
    for (const source::Drop& drop : packets.batch.drops) {
      analyser.take(drop);
    }
  }
}

void Observer::end_thread() {
  if (running_.fetch_sub(1) == 1) {
    eventfd_write(over_.get(), 1);
  }
}

bool Observer::read(source::Batch& batch) {
  batch.clear();
  const Result<source::Progress> progress = source_->read(batch);
  if (!progress) {
    batch.clear();
    return fail(progress.error());
  }
  const bool is_last = is_enough(batch) || *progress == source::Progress::End;
  progress_.take(source_->interfaces());
  progress_.take(batch);
  if (keep_) {
    if (const Result<> kept = keep_(batch, source_->interfaces()); !kept) {
      return fail(kept.error());
    }
  }
  return !is_last && !stop_;
}

bool Observer::is_enough(source::Batch& batch) {
  std::vector<packet::Frame>& frames = batch.frames;
  if (frames_ == 0 && !frames.empty()) {
    first_ns_ = frames.front().time_ns;
  }
  std::size_t wanted = frames.size();
  if (settings_.most_frames > 0) {
    wanted = std::min<std::size_t>(wanted, settings_.most_frames - frames_);
  }
  if (settings_.most_time.count() > 0) {
    const auto late = std::ranges::find_if(frames, [&](const packet::Frame& frame) {
      return frame.time_ns - first_ns_ > settings_.most_time.count();
    });
    wanted = std::min<std::size_t>(wanted, static_cast<std::size_t>(late - frames.begin()));
  }
  const bool is_cut = wanted < frames.size();
  frames.resize(wanted);
  frames_ += wanted;
  return is_cut || (settings_.most_frames > 0 && frames_ == settings_.most_frames);
}

bool Observer::fail(Error error) {
  error_ = std::move(error);
  return false;
}

}  // namespace chokepoint::capture::observer
