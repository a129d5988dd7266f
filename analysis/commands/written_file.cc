#include "analysis/commands/written_file.h"

#include "base/cli/output.h"

namespace chokepoint::analysis {

namespace fs = std::filesystem;

Result<> check_no_record(const fs::path& file) {
  if (file.extension() == ".db") {
    return fail(ErrorKind::Usage, "", file.string(), "is the name of a run's record",
                "give another with -o");
  }
  return {};
}

Result<> write_file(const std::string& file, const std::string& content) {
  if (const Result<> sound = check_no_record(file); !sound) {
    return sound;
  }
  std::error_code error;
  if (fs::is_directory(fs::path(file), error)) {
    return fail(ErrorKind::Usage, "", file, "is a folder", "give the name of a file");
  }
  TRY(const std::unique_ptr<cli::Output> output, cli::open_file(file));
  output->write(content);
  return output->finish();
}

}  // namespace chokepoint::analysis
