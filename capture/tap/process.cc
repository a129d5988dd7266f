#include "capture/tap/process.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"
#include "base/record/forward.h"
#include "base/sys/library.h"
#include "base/sys/thread.h"
#include "base/sys/worker.h"
#include "capture/packet/address_text.h"
#include "capture/source/helper.h"
#include "capture/tap/messages.h"

namespace chokepoint::capture::tap {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr sys::WorkerWords kWords{.operation = "watch packets",
                                  .who = "the process that reads packets",
                                  .late = "cannot be opened in time"};
constexpr milliseconds kOpenTimeout{4'000};  // less than WatchProcess waits for all of the watch
constexpr milliseconds kEndTimeout{3'000};
constexpr milliseconds kSendTimeout{1'000};
// How soon the tap learns that a flow has turned out to be the job's.
constexpr milliseconds kReplyInterval{50};

// Rows of the job's flows, which share theirs with its sockets. The tap's thread.
class JobTarget final : public record::RowTarget {
 public:
  JobTarget(socket::FlowRegistry& registry, record::Writer& writer, std::uint64_t network,
            const std::string& interface, const TapListeners& listeners)
      : registry_(registry),
        writer_(writer),
        producer_(writer.producer("packets " + interface)),
        network_(network),
        listeners_(listeners) {}
  JobTarget(const JobTarget&) = delete;
  JobTarget& operator=(const JobTarget&) = delete;
  ~JobTarget() override {
    for (const auto& [id, entry] : entries_) {
      registry_.left_by_packets(entry);
    }
  }

  record::FlowPlace place(std::int64_t id, const record::FlowPlace& known,
                          record::Flow row) override {
    if (const auto entry = entries_.find(id); entry != entries_.end()) {
      registry_.update_by_packets(*entry->second, row);
      return known;
    }
    const std::optional<packet::Ends> ends = ends_of(row);
    if (!ends) {
      return {};
    }
    const socket::Sighting sighting =
        registry_.seen_by_packets(*ends, network_, ++keys_, std::move(row));
    entries_[id] = sighting.entry;
    return {.id = sighting.entry->flow(), .is_turned = sighting.is_turned};
  }

  void leave(std::int64_t id) override {
    if (const auto entry = entries_.find(id); entry != entries_.end()) {
      registry_.left_by_packets(entry->second);
      entries_.erase(entry);
    }
  }

  std::int64_t add(record::Series row) override { return writer_.add(std::move(row)); }
  void add(record::Event row) override { writer_.add(std::move(row)); }
  void add(record::FlowTotal row) override { writer_.add(std::move(row)); }
  void push(const record::FlowSample& row) override { producer_.push(row); }
  void push(const record::FlowMark& row) override { producer_.push(row); }
  void push(const record::CounterSample& row) override { producer_.push(row); }
  void push(const record::Step& /*row*/) override {}  // none of a tap's
  void push(const record::Collective& row, const record::FlowPlace& place) override {
    if (!listeners_.on_collective) {
      return;
    }
    const std::int64_t end = (row.communicator.value_or(0) == 1) != place.is_turned ? 1 : 0;
    listeners_.on_collective(row, end, registry_.process_of(place.id, end));
  }
  void lost(std::uint64_t rows) override { producer_.note_lost(rows); }

 private:
  static std::optional<packet::Ends> ends_of(const record::Flow& row) {
    const auto a = net::Address::parse(row.a_address);
    const auto b = net::Address::parse(row.b_address);
    if (!a || !b) {
      return std::nullopt;
    }
    return packet::Ends{
        .source = packet::as_in_packets(*a),
        .destination = packet::as_in_packets(*b),
        .source_port = static_cast<std::uint16_t>(row.a_port.value_or(0)),
        .destination_port = static_cast<std::uint16_t>(row.b_port.value_or(0)),
        .protocol = static_cast<std::uint8_t>(row.protocol == "tcp" ? IPPROTO_TCP : IPPROTO_UDP),
        .is_ipv6 = a->family() == net::Family::Ipv6};
  }

  socket::FlowRegistry& registry_;
  record::Writer& writer_;
  record::Producer producer_;
  const std::uint64_t network_;
  const TapListeners& listeners_;
  std::map<std::int64_t, socket::EntryPointer> entries_;
  std::uint64_t keys_ = 0;
};

}  // namespace

class TapProcess::Core {
 public:
  Core(TapOptions options, socket::FlowRegistry& registry, record::Writer& writer,
       const TapListeners& listeners, sys::Worker worker)
      : options_(std::move(options)),
        registry_(registry),
        listeners_(listeners),
        worker_(std::move(worker)),
        target_(registry, writer, options_.network, options_.interface, listeners_),
        receiver_(target_) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() { static_cast<void>(end()); }

  Result<> start() {
    send(Message::Setup, setup_text());
    TRY(worker_.opened(steady_clock::now() + kOpenTimeout));
    TRY(thread_, sys::start_thread("packets", [this] { receive_all(); }));
    return {};
  }

  bool send(Message kind, std::string_view bytes = {}) const {
    return worker_.socket().send(kind, bytes, kSendTimeout);
  }

  void narrow(const std::string& filter) {
    if (filter == options_.filter || is_over() || !send(Message::Narrow, filter)) {
      return;
    }
    options_.filter = filter;
    std::unique_lock lock(mutex_);
    narrowed_.wait_for(lock, kSendTimeout, [this] { return has_narrowed_; });
    has_narrowed_ = false;
  }

  bool is_over() const { return is_over_.load(std::memory_order_acquire); }
  const std::string& interface() const { return options_.interface; }

  TapFigures figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

  Result<> end() {
    if (is_ended_) {
      return ended_;
    }
    is_ended_ = true;
    if (thread_.joinable()) {
      send(Message::Stop);
      deadline_ = steady_clock::now() + kEndTimeout;
      thread_.join();
    }
    // Killing it loses no row: what it sent before its end was taken.
    worker_.kill();
    return ended_;
  }

 private:
  std::string setup_text() const {
    Setup setup{.interface = options_.interface,
                .netns = options_.netns,
                .filter = options_.filter,
                .ring_bytes = options_.ring_bytes,
                .root = options_.root.folder().string()};
    for (const packet::Address& address : options_.own_addresses) {
      setup.own_addresses.push_back(packet::text_of(address, true));
    }
    return json::to_json(setup).dump();
  }

  // The thread, until the other side is gone.
  void receive_all() {
    bool is_last = false;
    while (!is_last && !worker_.socket().is_gone() && steady_clock::now() < deadline_.load()) {
      worker_.wait(steady_clock::now() + kReplyInterval);
      for (auto received = worker_.receive(); received && !is_last; received = worker_.receive()) {
        is_last = !take(*received);
      }
      send_changes();
    }
    if (!has_reason_) {
      ended_ = fail(worker_.why_ended());
    }
    is_over_.store(true, std::memory_order_release);
  }

  // False after the last message, or one that no tap of ours sends.
  bool take(const sys::ReceivedMessage& received) {
    switch (received.kind<Message>()) {
      case Message::Rows:
        if (const Result<> taken = receiver_.take(received.bytes); !taken) {
          return reject(taken.error());
        }
        return true;
      case Message::MembershipRequests:
        return reply_to(values_in<PackedEnds>(received.bytes));
      case Message::Bins:
        if (listeners_.on_traffic) {
          listeners_.on_traffic(values_in<observer::TrafficBin>(received.bytes));
        }
        return true;
      case Message::Figures:
        if (const auto figures = values_in<TapFigures>(received.bytes); !figures.empty()) {
          const std::lock_guard lock(mutex_);
          figures_ = figures.front();
        }
        return true;
      case Message::Narrowed: {
        const std::lock_guard lock(mutex_);
        has_narrowed_ = true;
        narrowed_.notify_one();
        return true;
      }
      case Message::Ended:
        has_reason_ = true;
        if (!received.bytes.empty()) {
          ended_ = fail(sys::unpacked_error(received.bytes));
        }
        return false;
      default:
        return reject({ErrorKind::Malformed, std::string(kWords.operation), options_.interface, 0,
                       "the process that reads packets says what makes no sense"});
    }
  }

  bool reject(const Error& error) {
    has_reason_ = true;
    ended_ = fail(error);
    return false;
  }

  bool reply_to(const std::vector<PackedEnds>& flows) {
    std::vector<MembershipReply> replies;
    for (const PackedEnds& ends : flows) {
      if (replied_.size() >= kMaxRequestedFlows) {
        // A tap requests flows that are over again, should they come back.
        replied_.clear();
      }
      replies.push_back({.ends = ends, .sender = sender_of(ends)});
      replied_[ends] = replies.back().sender;
    }
    return send_values(worker_.socket(), Message::MembershipReplies, replies, kSendTimeout);
  }

  // Of flows whose membership has changed since the last reply.
  void send_changes() {
    const std::uint64_t version = registry_.version();
    if (std::exchange(version_, version) == version) {
      return;
    }
    std::vector<MembershipReply> replies;
    for (auto& [ends, known] : replied_) {
      const Sender sender = sender_of(ends);
      if (std::exchange(known, sender) != sender) {
        replies.push_back({.ends = ends, .sender = sender});
      }
    }
    send_values(worker_.socket(), Message::MembershipReplies, replies, kSendTimeout);
  }

  Sender sender_of(const PackedEnds& ends) const {
    const std::optional<socket::JobEnd> end = registry_.job_end(unpacked(ends), options_.network);
    if (!end || std::ranges::count(options_.rivals, end->interface) > 0) {
      return Sender::NotTheJobs;
    }
    return end->is_source ? Sender::Source : Sender::Destination;
  }

  TapOptions options_;
  socket::FlowRegistry& registry_;
  const TapListeners listeners_;
  sys::Worker worker_;
  bool is_ended_ = false;
  Result<> ended_ = {};
  std::atomic<bool> is_over_ = false;
  std::atomic<steady_clock::time_point> deadline_ = steady_clock::time_point::max();
  mutable std::mutex mutex_;  // the three below
  TapFigures figures_;
  std::condition_variable narrowed_;
  bool has_narrowed_ = false;

  // The thread's.
  JobTarget target_;
  record::Receiver receiver_;
  std::map<PackedEnds, Sender> replied_;
  std::uint64_t version_ = UINT64_MAX;
  bool has_reason_ = false;
  std::thread thread_;
};

namespace {

Result<std::string> program_of(const TapOptions& options) {
  if (!options.program.empty()) {
    return options.program;
  }
  const auto found = source::helper_program();
  return found ? Result<std::string>(found->string())
               : fail(ErrorKind::NotFound, kWords.operation, sys::kCaptureProgram,
                      "it should lie in lib/chokepoint beside this program");
}

}  // namespace

Result<std::unique_ptr<TapProcess>> TapProcess::open(const TapOptions& options,
                                                     socket::FlowRegistry& registry,
                                                     record::Writer& writer,
                                                     const TapListeners& listeners) {
  TRY(const std::string program, program_of(options));
  TRY(sys::Worker worker, sys::Worker::start({program, "tap"}, kWords, options.interface));
  auto core = std::make_unique<Core>(options, registry, writer, listeners, std::move(worker));
  TRY(core->start());
  return std::unique_ptr<TapProcess>(new TapProcess(std::move(core)));
}

TapProcess::TapProcess(std::unique_ptr<Core> core) : core_(std::move(core)) {}
TapProcess::~TapProcess() = default;

void TapProcess::begin() { core_->send(Message::Begin); }
void TapProcess::narrow(const std::string& filter) { core_->narrow(filter); }
bool TapProcess::is_over() const { return core_->is_over(); }
Result<> TapProcess::end() { return core_->end(); }
const std::string& TapProcess::interface() const { return core_->interface(); }

VolumeCounts TapProcess::volume() const {
  const TapFigures figures = core_->figures();
  return {.sent_bytes = figures.sent_bytes,
          .received_bytes = figures.received_bytes,
          .sent_packets = figures.sent_packets,
          .retransmitted_packets = figures.retransmitted_packets};
}

std::uint64_t TapProcess::dropped() const { return core_->figures().dropped_packets; }

}  // namespace chokepoint::capture::tap
