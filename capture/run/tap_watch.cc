#include "capture/run/tap_watch.h"

#include <poll.h>

#include <utility>

namespace chokepoint::capture::run {
namespace {

// A Gloo header over IPv6 with options still fits.
constexpr std::uint32_t kSnapshotBytes = 144;
constexpr std::int64_t kMeasureNs = 100'000'000;
// Beside a job, which needs the memory more: some thousands of flows in full detail.
constexpr flow::Limits kLimits{.flows = 8'192, .detail_bytes = std::size_t{24} << 20};

std::int64_t now_ns() { return source::monotonic_ns(); }

}  // namespace

Result<std::unique_ptr<TapWatch>> TapWatch::open(const TapOptions& options, book::FlowBook& book,
                                                 record::Writer& writer,
                                                 const TapListeners& listeners) {
  Result<std::unique_ptr<source::LiveSource>> source =
      source::open_live({.interfaces = {options.interface},
                         .snapshot_bytes = kSnapshotBytes,
                         .ring_bytes = options.ring_bytes,
                         .filter = options.filter,
                         .netns = options.netns,
                         .time_scale = source::TimeScale::Monotonic,
                         .root = options.root});
  if (!source) {
    return std::unexpected(source.error());
  }
  std::unique_ptr<TapWatch> watch(new TapWatch(options, book, writer, listeners));
  source::LiveSource* const live = source->get();
  observer::Settings settings{.limits = kLimits,
                              .own_addresses = options.own_addresses,
                              .stop_source = [live] { live->stop(); }};
  settings.on_collective = [watch = watch.get()](const gloo::Collective& collective) {
    const record::Collective row = watch->collectives_.keep(collective);
    if (watch->listeners_.on_collective) {
      watch->listeners_.on_collective(row);
    }
  };
  auto made = observer::Observer::make(
      std::move(*source), settings,
      [watch = watch.get()](std::size_t) -> observer::FlowListener* { return watch; });
  if (!made) {
    return std::unexpected(made.error());
  }
  watch->observer_ = std::move(*made);
  watch->source_ = live;
  return watch;
}

TapWatch::TapWatch(const TapOptions& options, book::FlowBook& book, record::Writer& writer,
                   TapListeners listeners)
    : options_(options),
      listeners_(std::move(listeners)),
      rows_(book, JobFlows(book, options.network, options.rivals)),
      volume_(JobFlows(book, options.network, options.rivals), writer, options.interface),
      recorder_(
          writer,
          {.own_addresses = options.own_addresses, .rows = &rows_, .connections = &connections_}),
      collectives_(writer, connections_, 0),
      filter_(options.filter) {}

TapWatch::~TapWatch() {
  if (!is_ended_) {
    static_cast<void>(end());
  }
}

void TapWatch::narrow(const std::string& filter) {
  if (filter != filter_ && source_->narrow(filter)) {
    filter_ = filter;
  }
}

bool TapWatch::is_over() const {
  pollfd over{.fd = observer_->descriptor(), .events = POLLIN, .revents = 0};
  return poll(&over, 1, 0) > 0;
}

Result<> TapWatch::end() {
  is_ended_ = true;
  observer_->stop();
  Result<> ended = observer_->join();
  observer::Analyser& analyser = *observer_->analysers().front();
  volume_.measure(analyser, now_ns());
  recorder_.finish(analyser);
  hand_on(analyser);
  return ended;
}

std::uint64_t TapWatch::dropped() const {
  const observer::Progress progress = observer_->course().progress();
  return progress.dropped_by_kernel + progress.dropped_by_interface;
}

void TapWatch::on_drop(observer::Analyser& analyser, const source::Drop& drop) {
  recorder_.on_drop(analyser, drop);
}

void TapWatch::on_fold(observer::Analyser& analyser, std::uint32_t slot,
                       const flow::FlowFacts& facts) {
  volume_.fold(analyser, slot, facts);
  recorder_.on_fold(analyser, slot, facts);
}

void TapWatch::on_gloo(observer::Analyser& analyser, std::uint32_t slot, std::uint32_t connection) {
  recorder_.on_gloo(analyser, slot, connection);
}

void TapWatch::after_batch(observer::Analyser& analyser) {
  recorder_.after_batch(analyser);
  if (const std::int64_t now = now_ns(); now - measured_ns_ >= kMeasureNs) {
    measured_ns_ = now;
    volume_.measure(analyser, now);
    hand_on(analyser);
  }
}

void TapWatch::hand_on(observer::Analyser& analyser) const {
  if (listeners_.on_beats && !analyser.pulse().beats().empty()) {
    listeners_.on_beats(analyser.pulse().beats());
  }
  analyser.pulse().clear();
}

}  // namespace chokepoint::capture::run
