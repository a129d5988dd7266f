#include "capture/nccl/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "capture/nccl/assembly.h"
#include "capture/nccl/ring_file.h"
#include "capture/nccl/rows.h"

namespace chokepoint::capture::nccl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 512;
constexpr std::size_t kMaxChoices = 8;  // processes of one job have the same, as a rule
constexpr int kMaxListed = 4'096;
constexpr std::int64_t kListIntervalNs = 200'000'000;
// A process that has just begun is found among the job's a little later. Without its rank a row
// would have the communicator's, which is another one's of the job.
constexpr std::int64_t kMaxOwnerSearchNs = 10'000'000'000;

void add(Figures& sum, const Figures& more) {
  sum.processes += more.processes;
  sum.operations += more.operations;
  sum.overwritten += more.overwritten;
  sum.unkept += more.unkept;
  sum.orphans += more.orphans;
  if (more.foreign_version) {
    sum.foreign_version = more.foreign_version;
  }
  for (auto each = more.choices.begin();
       each != more.choices.end() && sum.choices.size() < kMaxChoices; ++each) {
    sum.choices.insert(*each);
  }
}

}  // namespace

struct Reader::Process {
  Process(fs::path where, sys::Descriptor descriptor)
      : path(std::move(where)), file(std::move(descriptor)), assembly(nullptr) {}

  Figures figures() const {
    Figures figures{.processes = state == FileState::Good ? 1U : 0U,
                    .operations = operations,
                    .overwritten = file.overwritten(),
                    .unkept = file.unkept(),
                    .orphans = assembly.orphans(),
                    .foreign_version =
                        state == FileState::Foreign ? std::optional(file.version()) : std::nullopt};
    if (file.choice().reason != Choice::Reason::Undecided) {
      figures.choices.insert(file.choice().word());
    }
    return figures;
  }

  fs::path path;
  RingFile file;
  Assembly assembly;
  Rows rows = {};
  std::uint64_t operations = 0;
  FileState state = FileState::Unready;
  std::optional<Owner> owner = {};  // last known, as rows may come after its end
  std::int64_t since_ns = 0;
};

Reader::Reader(fs::path folder, OnCollective on_collective, OwnerOf owner_of, OnTag on_tag)
    : folder_(std::move(folder)),
      on_collective_(std::move(on_collective)),
      owner_of_(std::move(owner_of)),
      on_tag_(std::move(on_tag)) {}

Reader::~Reader() = default;

void Reader::find_files() {
  std::error_code error;
  int listed = 0;
  for (fs::directory_iterator at(folder_, error), end;
       !error && at != end && listed < kMaxListed && processes_.size() < kMaxFiles;
       at.increment(error), ++listed) {
    if (at->path().filename().string().ends_with(kFileSuffix)) {
      open(at->path());
    }
  }
}

void Reader::open(const fs::path& path) {
  sys::Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return;
  }
  const Identity identity{status.st_dev, status.st_ino};
  if (processes_.contains(identity) || left_.contains(identity)) {
    return;
  }
  auto process = std::make_unique<Process>(path, std::move(file));
  Process* const owner = process.get();
  owner->assembly = Assembly(
      [this, owner](const Operation& operation, const Membership* member, const GpuClock& clock) {
        ++owner->operations;
        const bool has_one = !owner->assembly.is_of_several_ranks();
        const record::Collective row = owner->rows.row_of(
            operation, member, clock, has_one && owner->owner ? owner->owner->rank : std::nullopt);
        on_collective_(row);
        if (on_tag_ && operation.tag != 0 && operation.enqueued_ns) {
          on_tag_(row.rank.known() ? std::optional(row.rank.value()) : std::nullopt, operation.tag,
                  *operation.enqueued_ns);
        }
      });
  processes_.emplace(identity, std::move(process));
}

void Reader::read(std::uint64_t inode, Process& process, std::int64_t now_ns) {
  process.since_ns = process.since_ns == 0 ? now_ns : process.since_ns;
  process.state = process.file.read(
      [&process, now_ns](const Entry& entry) { process.assembly.take(entry, now_ns); });
  if (const auto owner = owner_of_(process.file.process(), inode); owner) {
    process.owner = owner;
  }
  if (process.owner || now_ns - process.since_ns >= kMaxOwnerSearchNs) {
    process.assembly.settle(now_ns);
  }
}

void Reader::tick(std::int64_t now_ns) {
  const bool is_due = now_ns - listed_ns_ >= kListIntervalNs;
  if (is_due) {
    listed_ns_ = now_ns;
    find_files();
  }
  for (auto& [identity, process] : processes_) {
    read(identity.second, *process, now_ns);
  }
  if (is_due) {
    forget_ended(now_ns);
  }
}

void Reader::forget_ended(std::int64_t now_ns) {
  for (auto place = processes_.begin(); place != processes_.end();) {
    auto& [identity, process] = *place;
    if (process->file.had_news() || !process->file.has_no_writer() || left_.size() >= kMaxFiles) {
      ++place;
      continue;
    }
    read(identity.second, *process, now_ns);
    process->assembly.settle(now_ns, true);
    add(past_, process->figures());
    if (::unlink(process->path.c_str()) != 0) {
      left_.insert(identity);
    }
    place = processes_.erase(place);
  }
}

void Reader::finish(std::int64_t now_ns) {
  find_files();
  for (auto& [identity, process] : processes_) {
    read(identity.second, *process, now_ns);
    process->assembly.settle(now_ns, true);
  }
}

void Reader::report_enqueued(const OnEnqueued& on_collective) const {
  std::vector<record::Collective> newest;
  for (const auto& [identity, process] : processes_) {
    newest.clear();
    const auto& members = process->assembly.members();
    for (const auto& [line, operation] : process->assembly.newest()) {
      if (const auto member = members.find(line.first); member != members.end()) {
        newest.push_back(enqueued_row(operation, member->second));
      }
    }
    if (process->owner) {
      on_collective(process->owner->pid, newest);
    }
  }
}

Figures Reader::figures() const {
  Figures sum = past_;
  for (const auto& [identity, process] : processes_) {
    add(sum, process->figures());
  }
  return sum;
}

}  // namespace chokepoint::capture::nccl
