#include "base/record/forward.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/record/row.h"
#include "base/sys/message_socket.h"
#include "base/sys/thread.h"

namespace chokepoint::record {
namespace {

using std::chrono::milliseconds;

// What an item of a message is: up to kKinds a sample, as in a queue.
enum ItemKind : Word {
  kFlowItem = 256,
  kSeriesItem,
  kEventItem,
  kTotalItem,
  kLeaveItem,
  kLostItem
};

template <class Row>
constexpr Word kItemOf = std::is_same_v<Row, Flow>     ? kFlowItem
                         : std::is_same_v<Row, Series> ? kSeriesItem
                         : std::is_same_v<Row, Event>  ? kEventItem
                                                       : kTotalItem;

constexpr std::size_t kMaxItemBytes = std::size_t{16} << 10;
constexpr std::size_t kMaxWaitingBytes = std::size_t{8} << 20;  // of rows with text
constexpr std::size_t kQueueBytes = std::size_t{4} << 20;       // of a producer
constexpr std::size_t kMessageWords = sys::kMaxMessageBytes / sizeof(Word);

void append(std::string& item, const auto& value) {
  item.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_member(std::string& item, const std::string& text) {
  append(item, static_cast<std::uint32_t>(text.size()));
  item += text;
}
void append_member(std::string& item, Figure value) { append(item, value); }
void append_member(std::string& item, const auto& value) { append(item, value); }

template <class Row>
std::string item_of(const Row& row) {
  std::string item;
  append(item, kItemOf<Row>);
  each_field<Row>([&](const auto& field) { append_member(item, row.*(field.member)); });
  return item;
}

std::string item_of(ItemKind kind, std::int64_t number) {
  std::string item;
  append(item, static_cast<Word>(kind));
  append(item, number);
  return item;
}

}  // namespace

// Everything but the thread itself; guarded by one mutex that is held for moments.
class Forwarder::Core {
 public:
  Core(Send send, milliseconds every) : send_(std::move(send)), every_(every) {}
  ~Core() { close(); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Result<> start() {
    TRY(thread_, sys::start_thread("rows", [this] { work(); }));
    return {};
  }

  Producer producer(std::string name) {
    auto channel = std::make_shared<Channel>(std::move(name), kQueueBytes);
    const std::lock_guard guard(mutex_);
    channel->is_sealed = is_closing_ || is_dead_;
    channels_.push_back(channel);
    return Producer(std::move(channel));
  }

  template <class Row>
  std::int64_t add(const Row& row) {
    const std::lock_guard guard(mutex_);
    if constexpr (requires { row.id; }) {
      Row numbered = row;
      numbered.id = row.id == 0 ? next_id_++ : row.id;
      return queue(item_of(numbered)) ? numbered.id : 0;
    } else {
      return queue(item_of(row)) ? 1 : 0;
    }
  }

  void leave(std::int64_t flow) {
    const std::lock_guard guard(mutex_);
    leaving_.push_back(flow);
  }

  void close() {
    {
      const std::lock_guard guard(mutex_);
      is_closing_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  // Under the mutex; false if there is no room, which is counted.
  bool queue(std::string item) {
    if (is_closing_ || is_dead_ || item.size() > kMaxItemBytes ||
        waiting_bytes_ + item.size() > kMaxWaitingBytes) {
      ++refused_;
      return false;
    }
    waiting_bytes_ += item.size();
    waiting_.push_back(std::move(item));
    return true;
  }

  void work() {
    std::unique_lock guard(mutex_);
    while (!is_closing_ && !is_dead_) {
      wake_.wait_for(guard, every_, [this] { return is_closing_; });
      guard.unlock();
      forward();
      guard.lock();
    }
    guard.unlock();
    forward();
    seal();
  }

  // A flow leaves after its last samples were pushed, and was added before its first: so those that
  // leave are taken before the samples, and rows with text after them. They are sent the other way
  // round.
  void forward() {
    std::vector<std::int64_t> leaving;
    std::vector<std::shared_ptr<Channel>> channels;
    {
      const std::lock_guard guard(mutex_);
      leaving.swap(leaving_);
      std::erase_if(channels_, [](const auto& channel) {
        return channel->is_closed && channel->queue.empty() && channel->refused == 0;
      });
      channels = channels_;
    }
    std::vector<Words> samples;
    std::uint64_t lost = 0;
    for (const std::shared_ptr<Channel>& channel : channels) {
      drain(*channel, samples);
      lost += channel->refused.exchange(0, std::memory_order_relaxed);
    }
    std::vector<std::string> items;
    {
      const std::lock_guard guard(mutex_);
      items.swap(waiting_);
      waiting_bytes_ = 0;
      lost += std::exchange(refused_, 0);
    }
    send_all(items);
    for (const Words& words : samples) {
      send({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Word)});
    }
    std::vector<std::string> last;
    for (const std::int64_t flow : leaving) {
      last.push_back(item_of(kLeaveItem, flow));
    }
    if (lost > 0) {
      last.push_back(item_of(kLostItem, static_cast<std::int64_t>(lost)));
    }
    send_all(last);
  }

  static void drain(Channel& channel, std::vector<Words>& samples) {
    while (!channel.queue.empty()) {
      samples.emplace_back().reserve(kMessageWords);
      channel.queue.drain(samples.back(), kMessageWords);
    }
  }

  void send_all(const std::vector<std::string>& items) {
    std::string message;
    for (const std::string& item : items) {
      if (message.size() + item.size() > sys::kMaxMessageBytes) {
        send(message);
        message.clear();
      }
      message += item;
    }
    if (!message.empty()) {
      send(message);
    }
  }

  void send(std::string_view rows) {
    if (!is_dead_ && !send_(rows)) {
      is_dead_ = true;
      seal();
    }
  }

  // A producer that waits for room would wait for ever.
  void seal() {
    const std::lock_guard guard(mutex_);
    for (const std::shared_ptr<Channel>& channel : channels_) {
      channel->is_sealed = true;
    }
  }

  const Send send_;
  const milliseconds every_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Channel>> channels_;
  std::vector<std::string> waiting_;
  std::vector<std::int64_t> leaving_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t refused_ = 0;
  std::int64_t next_id_ = 1;
  bool is_closing_ = false;
  std::atomic<bool> is_dead_ = false;  // the other end takes no more rows
  std::thread thread_;
};

Result<std::unique_ptr<Forwarder>> Forwarder::start(Send send, milliseconds every) {
  auto core = std::make_unique<Core>(std::move(send), every);
  TRY(core->start());
  return std::unique_ptr<Forwarder>(new Forwarder(std::move(core)));
}

Forwarder::Forwarder(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Forwarder::~Forwarder() = default;

Producer Forwarder::producer(std::string name) { return core_->producer(std::move(name)); }
std::int64_t Forwarder::add(Flow row) { return core_->add(row); }
std::int64_t Forwarder::add(Series row) { return core_->add(row); }
std::int64_t Forwarder::add(Event row) { return core_->add(row); }
bool Forwarder::add(FlowTotal row) { return core_->add(row) != 0; }
void Forwarder::leave(std::int64_t flow) { core_->leave(flow); }
void Forwarder::close() { core_->close(); }

// Reads the items of one message.
class RowParser {
 public:
  RowParser(Receiver& receiver, std::string_view rows) : receiver_(receiver), rows_(rows) {}

  Result<> read_all() {
    while (!rows_.empty()) {
      Word kind = 0;
      if (!read(kind)) {
        return malformed("an item that is cut off");
      }
      TRY(read_item(kind));
    }
    return {};
  }

 private:
  static std::unexpected<Error> malformed(const char* what) {
    return fail(ErrorKind::Malformed, "read rows", "", what);
  }

  Result<> read_item(Word kind) {
    switch (kind) {
      case kFlowItem:
        return read_row<Flow>();
      case kSeriesItem:
        return read_row<Series>();
      case kEventItem:
        return read_row<Event>();
      case kTotalItem:
        return read_row<FlowTotal>();
      case kLeaveItem:
      case kLostItem:
        return read_number(kind);
      default:
        return read_sample(kind);
    }
  }

  template <class Row>
  Result<> read_row() {
    Row row;
    bool is_whole = true;
    each_field<Row>(
        [&](const auto& field) { is_whole = is_whole && read_member(row.*(field.member)); });
    if (!is_whole) {
      return malformed("a row that is cut off");
    }
    TRY(check_range(row));
    return receiver_.take_row(std::move(row));
  }

  Result<> read_number(Word kind) {
    std::int64_t number = 0;
    if (!read(number) || number < 0) {
      return malformed("a number that is cut off");
    }
    if (kind == kLeaveItem) {
      receiver_.leave(number);
    } else {
      receiver_.target_.lost(static_cast<std::uint64_t>(number));
    }
    return {};
  }

  Result<> read_sample(Word kind) {
    if (kind >= kKinds) {
      return malformed("an item of no known kind");
    }
    std::array<Word, *std::ranges::max_element(kWordsOfKind)> words{kind};
    const std::size_t bytes = (kWordsOfKind.at(kind) - 1) * sizeof(Word);
    if (rows_.size() < bytes) {
      return malformed("a sample that is cut off");
    }
    std::memcpy(&words[1], rows_.data(), bytes);
    rows_.remove_prefix(bytes);
    Result<> taken;
    unpack(words.data(), [&](const auto& row) {
      taken = check_range(row);
      if (taken) {
        taken = receiver_.take_row(row);
      }
    });
    return taken;
  }

  bool read(auto& value) {
    if (rows_.size() < sizeof value) {
      return false;
    }
    std::memcpy(static_cast<void*>(&value), rows_.data(), sizeof value);
    rows_.remove_prefix(sizeof value);
    return true;
  }

  bool read_member(std::string& text) {
    std::uint32_t size = 0;
    if (!read(size) || size > kMaxItemBytes || size > rows_.size()) {
      return false;
    }
    text = rows_.substr(0, size);
    rows_.remove_prefix(size);
    return true;
  }
  bool read_member(Direction& direction) {
    return read(direction) && (direction == Direction::AToB || direction == Direction::BToA);
  }
  bool read_member(SeriesKind& kind) {
    return read(kind) && (kind == SeriesKind::Counter || kind == SeriesKind::Gauge);
  }
  bool read_member(auto& value) { return read(value); }

  Receiver& receiver_;
  std::string_view rows_;
};

Result<> Receiver::take(std::string_view rows) { return RowParser(*this, rows).read_all(); }

const FlowPlace* Receiver::find(Figure flow) const {
  const auto found = flow.known() ? flows_.find(flow.value()) : flows_.end();
  return found == flows_.end() || found->second.id == 0 ? nullptr : &found->second;
}

void Receiver::leave(std::int64_t flow) {
  if (flows_.erase(flow) > 0) {
    target_.leave(flow);
  }
}

// A row of a flow without a row in the record is left out, as are tables that this sender may not
// write.
template <class Row>
Result<> Receiver::take_row(Row row) {
  if constexpr (std::is_same_v<Row, Flow>) {
    if (flows_.size() >= kMaxKnown && !flows_.contains(row.id)) {
      return fail(ErrorKind::Malformed, "read rows", "", "too many flows");
    }
    FlowPlace& place = flows_[row.id];
    const std::int64_t id = row.id;
    place = target_.place(id, place, std::move(row));
  } else if constexpr (std::is_same_v<Row, Series>) {
    if (series_.size() >= kMaxKnown) {
      return fail(ErrorKind::Malformed, "read rows", "", "too many series");
    }
    const std::int64_t id = std::exchange(row.id, 0);
    series_[id] = target_.add(std::move(row));
  } else if constexpr (std::is_same_v<Row, Event>) {
    row.id = 0;
    target_.add(std::move(row));
  } else if constexpr (std::is_same_v<Row, FlowTotal> || std::is_same_v<Row, FlowSample> ||
                       std::is_same_v<Row, FlowMark>) {
    if (const FlowPlace* const place = find(row.flow)) {
      row.flow = place->id;
      if (place->is_turned) {
        row.direction = row.direction == Direction::AToB ? Direction::BToA : Direction::AToB;
      }
      if constexpr (std::is_same_v<Row, FlowTotal>) {
        target_.add(std::move(row));
      } else {
        target_.push(row);
      }
    }
  } else if constexpr (std::is_same_v<Row, CounterSample>) {
    if (const auto series = series_.find(row.series); series != series_.end()) {
      row.series = series->second;
      target_.push(row);
    }
  } else if constexpr (std::is_same_v<Row, Step>) {
    target_.push(row);
  } else if constexpr (std::is_same_v<Row, Collective>) {
    const FlowPlace* const place = find(row.flow);
    row.flow = place == nullptr ? Figure() : Figure(place->id);
    target_.push(row, place == nullptr ? FlowPlace{} : *place);
  }
  return {};
}

FlowPlace WriterTarget::place(std::int64_t /*id*/, const FlowPlace& known, Flow row) {
  row.id = known.id;
  return {.id = writer_.add(std::move(row))};
}

void WriterTarget::keep(const auto& row) {
  while (waits_ && producer_.is_full<std::remove_cvref_t<decltype(row)>>() &&
         !writer_.status().trouble) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  producer_.push(row);
}

}  // namespace chokepoint::record
