#include "capture/source/open.h"

#include <utility>

#include "capture/source/byte_stream.h"
#include "capture/source/file_source.h"
#include "capture/source/merged_files.h"

namespace chokepoint::capture::source {

Result<std::unique_ptr<Source>> open_file(const std::string& path) {
  TRY(auto stream, open_stream(path));
  return FileSource::over(std::move(stream), path == "-" ? "standard input" : path);
}

Result<std::unique_ptr<Source>> open_files(const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<Source>> files;
  for (const std::string& path : paths) {
    auto file = open_file(path);
    if (!file) {
      return file;
    }
    files.push_back(std::move(*file));
  }
  if (files.size() == 1) {
    return std::move(files.front());
  }
  return std::make_unique<MergedFiles>(std::move(files));
}

}  // namespace chokepoint::capture::source
