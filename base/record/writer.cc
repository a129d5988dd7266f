#include "base/record/writer.h"

#include <unistd.h>

#include <cerrno>

#include "base/record/writer_core.h"

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

Result<> check_node(const std::string& node) {
  if (node.empty() || node.starts_with('.') || node.find('/') != std::string::npos ||
      node.size() > 200) {
    return fail(ErrorKind::Usage, "", "node '" + node + "'", "cannot be a file's name",
                "give a plain name with --node");
  }
  return {};
}

Result<> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (fs::exists(folder) && !fs::is_directory(folder)) {
    return fail(ErrorKind::Usage, "record", folder.string(), "is a file, not a folder",
                "give a folder");
  }
  if (error) {
    Error failed = from_errno(error.value(), "record", folder.string());
    failed.next_step = "give a folder that can be made and written to";
    return fail(std::move(failed));
  }
  return {};
}

Result<fs::path> prepare_path(const fs::path& folder, const std::string& node) {
  TRY(check_node(node));
  TRY(make_folder(folder));
  return folder / (node + ".db");
}

// The record may be there already and be write-protected by itself.
Result<> check_writable(const fs::path& path) {
  if (fs::is_directory(path)) {
    return fail(ErrorKind::Usage, "record", path.string(), "is a folder where the record would be",
                "give another --node");
  }
  if (fs::exists(path) && access(path.c_str(), R_OK | W_OK) != 0) {
    Error error = from_errno(errno, "record", path.string());
    error.next_step = "give another folder, or make the file writable";
    return fail(std::move(error));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Writer>> Writer::open(const WriterOptions& options, const sys::Root& root,
                                             const sys::Clock& clock) {
  const std::string node =
      options.node.empty() ? root.text("/proc/sys/kernel/hostname").value_or("node") : options.node;
  TRY(const fs::path path, prepare_path(options.folder, node));
  TRY(check_writable(path));
  TRY(WriterLock lock, WriterLock::take(path));
  TRY(Store store, Store::open(path, options.limits, lock.is_held()));
  TRY(const std::vector<Session> before, store.sessions());
  Session session{.id = store.largest_id() + 1,
                  .role = options.role,
                  .command = shell_line(options.command),
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
