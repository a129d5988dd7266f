#include "capture/tap/reader.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"
#include "base/net/address.h"
#include "base/record/forward.h"
#include "base/sys/clock.h"
#include "base/sys/message_socket.h"
#include "base/sys/sandbox.h"
#include "base/sys/worker.h"
#include "capture/observer/gloo.h"
#include "capture/observer/observer.h"
#include "capture/observer/recorder.h"
#include "capture/packet/address_text.h"
#include "capture/source/live.h"
#include "capture/tap/job_flows.h"
#include "capture/tap/messages.h"

namespace chokepoint::capture::tap {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReaderTimeout{1'000};
constexpr milliseconds kRowsInterval{50};
// Enough for a Gloo header over IPv6 with options.
constexpr std::uint32_t kSnapshotBytes = 144;
constexpr std::int64_t kMeasureNs = 100'000'000;
// Where no packet comes the analyser's time follows the clock: at this interval, and this much
// behind it. A packet is read that soon for certain: a judgement.
constexpr milliseconds kIdlePause{250};
constexpr std::int64_t kReadDelayNs = 1'000'000'000;
// The job needs the memory: only some thousands of flows in full detail.
constexpr flow::Limits kLimits{.flows = 8'192, .detail_bytes = std::size_t{24} << 20};

std::int64_t now_ns() { return sys::SystemClock().monotonic_ns(); }

// The watch's last reply about each flow. The analyser requests, the main thread takes the replies.
class RequestedMembership final : public observer::Membership {
 public:
  std::optional<bool> sends(const packet::Ends& ends) override {
    const PackedEnds key = packed(ends);
    const std::lock_guard lock(mutex_);
    const auto known = states_.find(key);
    if (known == states_.end()) {
      if (states_.size() < kMaxRequestedFlows) {
        states_[key] = {};
        requests_.push_back(key);
      }
      return std::nullopt;
    }
    const Sender sender = known->second.sender;
    return sender == Sender::NotTheJobs ? std::nullopt : std::optional(sender == Sender::Source);
  }

  std::uint64_t version() const override { return version_.load(std::memory_order_relaxed); }

  void forget(const packet::Ends& ends) override {
    const std::lock_guard lock(mutex_);
    states_.erase(packed(ends));
  }

  std::vector<PackedEnds> take_requests() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }

  void update(const std::vector<MembershipReply>& replies) {
    {
      const std::lock_guard lock(mutex_);
      for (const MembershipReply& reply : replies) {
        if (const auto state = states_.find(reply.ends); state != states_.end()) {
          state->second = {.sender = reply.sender, .is_known = true};
        }
      }
    }
    version_.fetch_add(1, std::memory_order_relaxed);
  }

  bool are_all_known() const {
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(states_, [](const auto& each) { return each.second.is_known; });
  }

 private:
  struct State {
    Sender sender = Sender::NotTheJobs;
    bool is_known = false;
  };

  mutable std::mutex mutex_;
  std::map<PackedEnds, State> states_;
  std::vector<PackedEnds> requests_;
  std::atomic<std::uint64_t> version_ = 0;
};

std::vector<packet::Address> addresses_of(const std::vector<std::string>& texts) {
  std::vector<packet::Address> addresses;
  for (const std::string& text : texts) {
    if (const auto address = net::Address::parse(text)) {
      addresses.push_back(packet::as_in_packets(*address));
    }
  }
  return addresses;
}

class Reader final : private observer::FlowListener {
 public:
  explicit Reader(sys::MessageSocket watch) : watch_(std::move(watch)) {}

  int run() {
    const std::optional<Setup> setup = receive_setup();
    if (!setup) {
      return 1;
    }
    if (const Result<> opened = open(*setup); !opened) {
      send(sys::WorkerMessage::Failed, sys::packed_error(opened.error()));
      return 1;
    }
    send(sys::WorkerMessage::Opened);
    poll_interface();
    if (watch_.is_gone()) {
      return 1;
    }
    const Result<> ended = finish();
    send(Message::Ended, ended ? std::string() : sys::packed_error(ended.error()));
    return 0;
  }

 private:
  template <class Kind>
  bool send(Kind kind, std::string_view bytes = {}) const {
    return watch_.send(kind, bytes, kReaderTimeout);
  }

  std::optional<Setup> receive_setup() {
    pollfd waiting{.fd = watch_.descriptor(), .events = POLLIN, .revents = 0};
    while (poll(&waiting, 1, -1) >= 0) {
      const auto received = watch_.receive();
      if (watch_.is_gone() || (received && received->kind<Message>() != Message::Setup)) {
        return std::nullopt;
      }
      if (received) {
        const auto body = json::parse_object(received->bytes, sys::kMaxMessageBytes, "setup");
        auto setup = body ? json::from_json<Setup>(*body, "setup") : fail(body.error());
        return setup ? std::optional(*std::move(setup)) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  // No thread but this one until the sandbox is entered.
  Result<> open(const Setup& setup) {
    TRY(std::unique_ptr<source::LiveSource> source,
        source::open_live({.interfaces = {setup.interface},
                           .snapshot_bytes = kSnapshotBytes,
                           .ring_bytes = setup.ring_bytes,
                           .filter = setup.filter,
                           .netns = setup.netns,
                           .time_scale = source::TimeScale::Monotonic,
                           .root = sys::Root(setup.root)}));
    TRY(sys::enter_sandbox({.connected_to = watch_.descriptor()}));
    TRY(forwarder_,
        record::Forwarder::start(
            [this](std::string_view rows) { return send(Message::Rows, rows); }, kRowsInterval));
    const std::vector<packet::Address> own = addresses_of(setup.own_addresses);
    volume_.emplace(membership_, *forwarder_, setup.interface);
    recorder_.emplace(*forwarder_,
                      observer::RecorderOptions{
                          .own_addresses = own, .job = &membership_, .connections = &connections_});
    collectives_.emplace(*forwarder_, connections_, 0, observer::Joining::ByConnection);
    return observe(std::move(source), own);
  }

  Result<> observe(std::unique_ptr<source::LiveSource> source,
                   const std::vector<packet::Address>& own) {
    source_ = source.get();
    const observer::Settings settings{
        .limits = kLimits,
        .own_addresses = own,
        .on_collective = [this](const gloo::Collective& each) { collectives_->keep(each); },
        .on_waiting = [this](const gloo::Collective& each) { collectives_->keep_waiting(each); },
        .joining = observer::Joining::ByConnection,
        .stop_source = [this] { source_->stop(); }};
    TRY(observer_,
        observer::Observer::make(std::move(source), settings,
                                 [this](std::size_t) -> observer::FlowListener* { return this; }));
    return {};
  }

  // Until Stop, or until the interface or the watch goes.
  void poll_interface() {
    bool has_begun = false;
    while (!watch_.is_gone() && !is_stopped_) {
      std::array<pollfd, 2> waiting{
          pollfd{.fd = watch_.descriptor(), .events = POLLIN, .revents = 0},
          pollfd{.fd = has_begun ? observer_->descriptor() : -1, .events = POLLIN, .revents = 0}};
      poll(waiting.data(), waiting.size(), static_cast<int>(kIdlePause.count()));
      take_messages(has_begun);
      if (has_begun) {
        observer_->note_time(now_ns() - kReadDelayNs);
      }
      if (waiting[1].revents != 0) {
        return;
      }
    }
  }

  void take_messages(bool& has_begun) {
    while (const auto received = watch_.receive()) {
      switch (received->kind<Message>()) {
        case Message::Begin:
          if (!has_begun) {
            observer_->start();
          }
          has_begun = true;
          break;
        case Message::MembershipReplies:
          membership_.update(values_in<MembershipReply>(received->bytes));
          break;
        case Message::Narrow:
          // An error leaves the old filter.
          static_cast<void>(source_->narrow(std::string(received->bytes)));
          send(Message::Narrowed);
          break;
        case Message::Stop:
          is_stopped_ = true;
          break;
        default:
          break;
      }
    }
  }

  // What was captured before is still analysed. An error if the interface went away.
  Result<> finish() {
    observer_->stop();
    Result<> ended = observer_->join();
    observer::Analyser& analyser = *observer_->analysers().front();
    volume_->measure(analyser, now_ns());  // requests membership of the newest flows
    request_membership();
    wait_for_replies();
    volume_->measure(analyser, now_ns());
    recorder_->finish(analyser);
    request_membership();
    send_figures(analyser);
    forwarder_->close();
    return ended;
  }

  void wait_for_replies() {
    const auto until = std::chrono::steady_clock::now() + kReaderTimeout;
    bool has_begun = true;
    while (!watch_.is_gone() && !membership_.are_all_known() &&
           std::chrono::steady_clock::now() < until) {
      pollfd waiting{.fd = watch_.descriptor(), .events = POLLIN, .revents = 0};
      poll(&waiting, 1, static_cast<int>(kRowsInterval.count()));
      take_messages(has_begun);
    }
  }

  void on_drop(observer::Analyser& analyser, const source::Drop& drop) override {
    recorder_->on_drop(analyser, drop);
  }

  void on_fold(observer::Analyser& analyser, std::uint32_t slot,
               const flow::FlowFacts& facts) override {
    volume_->fold(analyser, slot, facts);
    recorder_->on_fold(analyser, slot, facts);
  }

  void on_gloo(observer::Analyser& analyser, std::uint32_t slot,
               const observer::GlooLedger::Connection& connection) override {
    recorder_->on_gloo(analyser, slot, connection);
  }

  void on_content(observer::Analyser& analyser, std::uint32_t slot,
                  traffic::Content content) override {
    recorder_->on_content(analyser, slot, content);
  }

  void after_batch(observer::Analyser& analyser) override {
    recorder_->after_batch(analyser);
    if (const std::int64_t now = now_ns(); now - measured_ns_ >= kMeasureNs) {
      measured_ns_ = now;
      volume_->measure(analyser, now);
      request_membership();
      send_figures(analyser);
    }
  }

  void request_membership() {
    send_values(watch_, Message::MembershipRequests, membership_.take_requests(), kReaderTimeout);
  }

  void send_figures(observer::Analyser& analyser) const {
    send_values(watch_, Message::Bins, analyser.traffic_bins().bins(), kReaderTimeout);
    analyser.traffic_bins().clear();
    const VolumeCounts counts = volume_->counts();
    const observer::Progress progress = observer_->progress().now();
    const TapFigures figures{
        .sent_bytes = counts.sent_bytes,
        .received_bytes = counts.received_bytes,
        .sent_packets = counts.sent_packets,
        .retransmitted_packets = counts.retransmitted_packets,
        .dropped_packets = progress.dropped_by_kernel + progress.dropped_by_interface};
    send(Message::Figures, bytes_of(figures));
  }

  sys::MessageSocket watch_;
  bool is_stopped_ = false;
  RequestedMembership membership_;
  std::unique_ptr<record::Forwarder> forwarder_;
  observer::ConnectionFlows connections_;
  std::optional<JobVolume> volume_;
  std::optional<observer::Recorder> recorder_;
  std::optional<observer::CollectiveRecorder> collectives_;
  source::LiveSource* source_ = nullptr;          // the observer's
  std::unique_ptr<observer::Observer> observer_;  // the last: stops before what it writes to ends
  std::int64_t measured_ns_ = 0;
};

}  // namespace

int run_reader(int socket) { return Reader(sys::MessageSocket(sys::Descriptor(socket))).run(); }

}  // namespace chokepoint::capture::tap
