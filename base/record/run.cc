#include "base/record/run.h"

#include <algorithm>

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> files_of(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder, error)) {
    return std::vector{folder};
  }
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".db") {
      files.push_back(entry->path());
    }
  }
  if (error) {
    Error failed = from_errno(error.value(), "record", folder.string());
    failed.next_step = "give the folder that --out or --record named";
    return fail(std::move(failed));
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<Run> open_run(const fs::path& folder) {
  const Result<std::vector<fs::path>> files = files_of(folder);
  if (!files) {
    return fail(files.error());
  }
  if (files->empty()) {
    return fail(ErrorKind::NotFound, "record", folder.string(), "holds no run record (*.db)",
                "give the folder that --out or --record named");
  }
  Run run;
  for (const fs::path& file : *files) {
    Result<Reader> reader = Reader::open(file);
    if (reader) {
      run.nodes.push_back(std::move(*reader));
    } else {
      run.unreadable.push_back(reader.error());
    }
  }
  std::ranges::sort(run.nodes, {},
                    [](const Reader& node) -> const std::string& { return node.node(); });
  return run;
}

}  // namespace chokepoint::record
