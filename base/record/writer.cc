#include "base/record/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/record/loss.h"
#include "base/record/opening.h"
#include "base/record/row.h"
#include "base/record/secrets.h"
#include "base/record/store.h"
#include "base/record/syncer.h"
#include "base/record/writer_lock.h"
#include "base/sys/regular_file.h"
#include "base/sys/thread.h"

namespace chokepoint::record {
namespace {

constexpr std::chrono::milliseconds kMinPause{5};
constexpr std::chrono::milliseconds kMaxPause{100};
constexpr std::size_t kBusyBytes = std::size_t{128} << 10;  // bytes found in one look
constexpr std::chrono::minutes kAnchorInterval{1};
// Rows with text may fill this part of the record.
constexpr std::int64_t kEntityShare = 4;

bool can_pass(ErrorKind kind) {
  return kind == ErrorKind::Exhausted || kind == ErrorKind::Busy || kind == ErrorKind::ReadOnly ||
         kind == ErrorKind::Io;
}

// What the record must hold whatever its size.
bool is_exempt(const Entity& entity) {
  return std::holds_alternative<Session>(entity) || std::holds_alternative<ClockAnchor>(entity);
}

namespace fs = std::filesystem;

Result<> check_node(const std::string& node) {
  if (node.empty() || node.starts_with('.') || node.find('/') != std::string::npos ||
      node.size() > 200) {
    return fail(ErrorKind::Usage, "", "node '" + node + "'", "cannot be a file's name",
                "give a plain name with --node");
  }
  return {};
}

// Records hold command lines and addresses: they are their owner's and the group's.
constexpr mode_t kRecordMode = 0640;

// SQLite gives its other files the mode of this one. What fails here fails there, too, and is
// reported then.
void make_file(const fs::path& path) {
  [[maybe_unused]] const auto file =
      sys::open_regular("record", path, O_WRONLY | O_CREAT | O_EXCL, kRecordMode);
}

Result<fs::path> prepare_path(const fs::path& folder, const std::string& node) {
  TRY(check_node(node));
  TRY(make_folder(folder));
  return folder / (node + ".db");
}

// The record may be there already and be write-protected by itself.
Result<> check_writable(const fs::path& path) {
  Result<bool> is_there = sys::check_regular("record", path);
  if (!is_there && is_there.error().code == 0) {
    is_there.error().next_step = "remove it, or give another folder or --node";
  }
  TRY(const bool has_record, std::move(is_there));
  if (has_record && access(path.c_str(), R_OK | W_OK) != 0) {
    Error error = from_errno(errno, "record", path.string());
    error.next_step = "give another folder, or make the file writable";
    return fail(std::move(error));
  }
  return {};
}

}  // namespace

// The inside of the Writer: what any thread may touch (guarded by one mutex that is only ever held
// for moments), and what belongs to its own thread.
class Writer::Core {
 public:
  Core(WriterLock lock, Store store, std::filesystem::path path, Session session,
       const Limits& limits, const sys::Clock& clock);
  ~Core();

  // Puts the session into the record and starts the thread.
  Result<> start();

  const std::filesystem::path& path() const { return path_; }
  bool is_first_session() const { return session_.id == 1; }
  Producer producer(std::string name);
  template <class Row>
  std::int64_t add(Row row);
  WriterStatus status() const;
  WriterStatus close(std::optional<int> exit_status);

 private:
  using Steady = std::chrono::steady_clock;

  bool enqueue(Entity entity, std::size_t size);

  // Below: the writer's thread only; while there is none, the thread that opens or closes.
  void work();
  void round();
  bool collect_samples();
  bool collect_entities();
  void note_refused();
  void note_given_up();
  void note_limit(std::vector<Entity>& entities);
  void anchor_clock();
  bool is_due() const;
  std::chrono::milliseconds commit_interval() const;
  void commit();
  bool write_batch();
  void tidy();
  void count_written();
  void fall_back(const Error& error);
  void finish();
  void seal();
  void give_up_rest();
  void publish();
  std::chrono::milliseconds pause();
  std::string reason() const;
  std::int64_t now_ns() const { return clock_.monotonic_ns() + session_.shift_ns; }

  // Both are released in close().
  std::optional<WriterLock> lock_;
  std::optional<Store> store_;
  const std::filesystem::path path_;
  Session session_;
  const Limits limits_;
  const sys::Clock& clock_;
  std::atomic<std::int64_t> next_id_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Channel>> channels_;
  std::vector<Entity> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t refused_entities_ = 0;
  bool is_closing_ = false;
  WriterStatus status_;

  Batch batch_;
  std::size_t batch_rows_ = 0;
  std::size_t batch_entity_bytes_ = 0;
  std::size_t turn_ = 0;
  std::size_t moved_bytes_ = 0;
  LossBook losses_;
  std::optional<Error> trouble_;
  std::uint64_t rows_ = 0;
  const Steady::time_point begun_ = Steady::now();
  Steady::time_point last_commit_ = Steady::now();
  Steady::time_point last_anchor_ = Steady::now();
  Steady::time_point retry_at_;
  std::chrono::milliseconds pause_{20};

  std::thread thread_;
};

template <class Row>
std::int64_t Writer::Core::add(Row row) {
  std::int64_t id = 1;
  if constexpr (requires { row.session; }) {
    row.session = session_.id;
  }
  if constexpr (requires { row.id; }) {
    row.id = row.id == 0 ? next_id_.fetch_add(1) : row.id;
    id = row.id;
  }
  shift_times(row, session_.shift_ns);
  const std::size_t size = size_of(row);
  return enqueue(Entity(std::move(row)), size) ? id : 0;
}

Writer::Core::Core(WriterLock lock, Store store, std::filesystem::path path, Session session,
                   const Limits& limits, const sys::Clock& clock)
    : lock_(std::move(lock)),
      store_(std::move(store)),
      path_(std::move(path)),
      session_(std::move(session)),
      limits_(limits),
      clock_(clock),
      next_id_(session_.id + 1) {}

Writer::Core::~Core() { close(std::nullopt); }

Result<> Writer::Core::start() {
  batch_.entities.emplace_back(session_);
  batch_.entities.emplace_back(ClockAnchor{session_.id, session_.start_ns, session_.start_wall_ns});
  Result<> written = store_->write(batch_, {}, session_.id, session_.start_ns, session_.shift_ns);
  if (!written) {
    written.error().subject = path_.string();
    return written;
  }
  batch_.clear();
  batch_.samples.reserve(static_cast<std::size_t>(limits_.batch_bytes) / sizeof(Word));
  TRY(thread_, sys::start_thread("record", [this] { work(); }));
  return {};
}

Producer Writer::Core::producer(std::string name) {
  auto channel =
      std::make_shared<Channel>(std::move(name), static_cast<std::size_t>(limits_.queue_bytes));
  const std::lock_guard guard(mutex_);
  channel->is_sealed = is_closing_;
  channels_.push_back(channel);
  return Producer(std::move(channel));
}

bool Writer::Core::enqueue(Entity entity, std::size_t size) {
  const std::lock_guard guard(mutex_);
  if (is_closing_ || waiting_bytes_ + size > static_cast<std::size_t>(limits_.entity_bytes)) {
    ++refused_entities_;
    return false;
  }
  waiting_bytes_ += size;
  waiting_.push_back(std::move(entity));
  return true;
}

WriterStatus Writer::Core::status() const {
  const std::lock_guard guard(mutex_);
  return status_;
}

WriterStatus Writer::Core::close(std::optional<int> exit_status) {
  {
    const std::lock_guard guard(mutex_);
    if (!is_closing_ && exit_status) {
      session_.exit_status = *exit_status;
    }
    is_closing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  return status();
}

void Writer::Core::work() {
  std::unique_lock guard(mutex_);
  while (!is_closing_) {
    guard.unlock();
    round();
    publish();
    const std::chrono::milliseconds deadline = pause();
    guard.lock();
    wake_.wait_for(guard, deadline, [this] { return is_closing_; });
  }
  guard.unlock();
  finish();
}

void Writer::Core::round() {
  const std::size_t before = batch_.samples.size();
  collect_samples();
  collect_entities();
  moved_bytes_ = (batch_.samples.size() - before) * sizeof(Word);
  note_refused();
  note_given_up();
  anchor_clock();
  if (is_due()) {
    commit();
  }
}

bool Writer::Core::collect_samples() {
  std::vector<std::shared_ptr<Channel>> channels;
  {
    const std::lock_guard guard(mutex_);
    std::erase_if(channels_, [](const auto& channel) {
      return channel->is_closed && channel->queue.empty() && channel->refused == 0;
    });
    channels = channels_;
  }
  const std::size_t most = static_cast<std::size_t>(limits_.batch_bytes) / sizeof(Word);
  const std::size_t before = batch_rows_;
  ++turn_;  // each producer is first in turn, while there is not space for all
  for (std::size_t index = 0; index < channels.size(); ++index) {
    Channel& channel = *channels[(index + turn_) % channels.size()];
    batch_rows_ += channel.queue.drain(batch_.samples, most);
    losses_.note(channel.name, reason(), channel.refused.exchange(0, std::memory_order_relaxed),
                 now_ns());
  }
  return batch_rows_ != before;
}

bool Writer::Core::collect_entities() {
  if (batch_entity_bytes_ >= static_cast<std::size_t>(limits_.entity_bytes)) {
    return false;
  }
  std::vector<Entity> entities;
  {
    const std::lock_guard guard(mutex_);
    entities.swap(waiting_);
    batch_entity_bytes_ += std::exchange(waiting_bytes_, 0);
  }
  note_limit(entities);
  std::ranges::move(entities, std::back_inserter(batch_.entities));
  return !entities.empty();
}

void Writer::Core::note_limit(std::vector<Entity>& entities) {
  if (store_->entity_bytes() < limits_.max_bytes / kEntityShare) {
    return;
  }
  const std::size_t before = entities.size();
  std::erase_if(entities, [](const Entity& entity) { return !is_exempt(entity); });
  losses_.note("entities", "limit", before - entities.size(), now_ns());
}

void Writer::Core::note_refused() {
  std::uint64_t refused = 0;
  {
    const std::lock_guard guard(mutex_);
    refused = std::exchange(refused_entities_, 0);
  }
  losses_.note("entities", reason(), refused, now_ns());
}

void Writer::Core::note_given_up() {
  losses_.note("oldest detail", "limit", static_cast<std::uint64_t>(store_->take_forgotten()),
               now_ns());
}

void Writer::Core::anchor_clock() {
  if (Steady::now() - last_anchor_ < kAnchorInterval) {
    return;
  }
  last_anchor_ = Steady::now();
  batch_.entities.emplace_back(ClockAnchor{session_.id, now_ns(), clock_.wall_ns()});
}

std::chrono::milliseconds Writer::Core::commit_interval() const {
  return Steady::now() - begun_ < limits_.young ? limits_.first_commit_interval
                                                : limits_.commit_interval;
}

bool Writer::Core::is_due() const {
  const bool is_full = batch_.samples.size() * sizeof(Word) + sizeof(SocketSample) >=
                       static_cast<std::size_t>(limits_.batch_bytes);
  if ((batch_.empty() && !losses_.has_news()) || Steady::now() < retry_at_) {
    return false;
  }
  return is_full || Steady::now() - last_commit_ >= commit_interval();
}

void Writer::Core::commit() {
  if (write_batch()) {
    tidy();
  }
}

bool Writer::Core::write_batch() {
  Result<> written = store_->make_room();
  note_given_up();
  if (written) {
    const std::vector<Entity> events =
        losses_.events(session_.id, [this] { return next_id_.fetch_add(1); });
    written = store_->write(batch_, events, session_.id, now_ns(), session_.shift_ns);
  }
  last_commit_ = Steady::now();
  if (!written) {
    fall_back(written.error());
    return false;
  }
  trouble_.reset();
  losses_.settle(now_ns());
  count_written();
  return true;
}

void Writer::Core::tidy() {
  if (const Result<> tidied = store_->tidy(); !tidied) {
    fall_back(tidied.error());
  }
}

void Writer::Core::count_written() {
  rows_ += batch_rows_ + batch_.entities.size();
  batch_.clear();
  batch_rows_ = 0;
  batch_entity_bytes_ = 0;
}

// A full disk may have room again later; a batch that the record cannot take at all must not stand
// in the way of those behind it.
void Writer::Core::fall_back(const Error& error) {
  trouble_ = error;
  trouble_->subject = path_.string();
  retry_at_ = Steady::now() + limits_.retry_interval;
  if (!can_pass(error.kind)) {
    losses_.note("record", reason(), batch_rows_ + batch_.entities.size(), now_ns());
    batch_.clear();
    batch_rows_ = 0;
    batch_entity_bytes_ = 0;
  }
}

void Writer::Core::finish() {
  seal();
  trouble_.reset();
  bool more = true;
  while (more && !trouble_) {
    const bool samples = collect_samples();
    const bool entities = collect_entities();
    more = samples || entities || !batch_.empty();
    if (more) {
      commit();
    }
  }
  note_refused();
  session_.end_ns = session_.seen_ns = now_ns();
  batch_.entities.emplace_back(session_);
  // Without tidy(): nothing would count what it gives up.
  write_batch();
  if (trouble_) {
    give_up_rest();
  }
  store_->close();
  publish();
  store_.reset();
  lock_.reset();
}

// Without it a producer that goes on would keep the end from coming.
void Writer::Core::seal() {
  const std::lock_guard guard(mutex_);
  for (const std::shared_ptr<Channel>& channel : channels_) {
    channel->is_sealed = true;
  }
}

void Writer::Core::give_up_rest() {
  std::uint64_t rows = batch_rows_ + batch_.entities.size();
  batch_.clear();
  const std::lock_guard guard(mutex_);
  for (const std::shared_ptr<Channel>& channel : channels_) {
    for (std::size_t more = 1; more > 0; batch_.samples.clear()) {
      more = channel->queue.drain(batch_.samples, batch_.samples.capacity());
      rows += more;
    }
  }
  losses_.note("record", reason(), rows + waiting_.size(), now_ns());
}

void Writer::Core::publish() {
  WriterStatus status{.rows = rows_,
                      .dropped = losses_.total(),
                      .losses = losses_.sums(),
                      .bytes = store_->bytes(),
                      .trouble = trouble_ ? trouble_ : store_->sync_trouble()};
  const std::lock_guard guard(mutex_);
  status_ = std::move(status);
}

// Short while there is much to do, longer and longer while there is little: a look at the queues
// costs more than the few rows that it would find, and they have room for some seconds of those.
std::chrono::milliseconds Writer::Core::pause() {
  if (moved_bytes_ < kBusyBytes) {
    pause_ = std::min(pause_ * 2, kMaxPause);
    return batch_.empty() ? pause_ : std::min(pause_, commit_interval() / 4);
  }
  pause_ = kMinPause;
  return trouble_ || batch_.samples.size() * sizeof(Word) * 2 <
                         static_cast<std::size_t>(limits_.batch_bytes)
             ? pause_
             : std::chrono::milliseconds(0);
}

std::string Writer::Core::reason() const {
  if (!trouble_) {
    return "queue-full";
  }
  switch (trouble_->kind) {
    case ErrorKind::Exhausted:
      return "disk-full";
    case ErrorKind::ReadOnly:
      return "read-only";
    case ErrorKind::Busy:
      return "log-held";
    default:
      return "io-error";
  }
}

Result<std::unique_ptr<Writer>> Writer::open(const WriterOptions& options, const sys::Root& root,
                                             const sys::Clock& clock) {
  const std::string node =
      options.node.empty() ? root.text("/proc/sys/kernel/hostname").value_or("node") : options.node;
  TRY(const fs::path path, prepare_path(options.folder, node));
  TRY(check_writable(path));
  TRY(WriterLock lock, WriterLock::take(path, root));
  make_file(path);
  TRY(Store store, Store::open(path, options.limits, lock.has_locks()));
  TRY(const std::vector<Session> before, store.sessions());
  Session session{
      .id = store.largest_id() + 1,
      .role = options.role,
      .command = shell_line(options.keep_secrets ? options.command : masked(options.command)),
      .node = node,
      .program = options.program};
  session = begin_session(std::move(session), before, root, clock);
  auto core = std::make_unique<Core>(std::move(lock), std::move(store), path, std::move(session),
                                     options.limits, clock);
  TRY(core->start());
  return std::unique_ptr<Writer>(new Writer(std::move(core)));
}

Writer::Writer(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Writer::~Writer() = default;

const fs::path& Writer::path() const { return core_->path(); }
bool Writer::is_first_session() const { return core_->is_first_session(); }
Producer Writer::producer(std::string name) { return core_->producer(std::move(name)); }

std::int64_t Writer::add(Probe row) { return core_->add(std::move(row)); }
std::int64_t Writer::add(Process row) { return core_->add(std::move(row)); }
std::int64_t Writer::add(Flow row) { return core_->add(std::move(row)); }
std::int64_t Writer::add(Series row) { return core_->add(std::move(row)); }
std::int64_t Writer::add(Event row) { return core_->add(std::move(row)); }
bool Writer::add(Label row) { return core_->add(std::move(row)) != 0; }
bool Writer::add(Fact row) { return core_->add(std::move(row)) != 0; }
bool Writer::add(FlowTotal row) { return core_->add(std::move(row)) != 0; }
bool Writer::add(ClockOffset row) { return core_->add(std::move(row)) != 0; }

WriterStatus Writer::status() const { return core_->status(); }
WriterStatus Writer::close(std::optional<int> exit_status) { return core_->close(exit_status); }

}  // namespace chokepoint::record
