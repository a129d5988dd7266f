#include "capture/source/merged_files.h"

#include <utility>

namespace chokepoint::capture::source {
namespace {

class FileLane final : public Lane {
 public:
  explicit FileLane(std::unique_ptr<Source> file) : file_(std::move(file)) {}

  Result<Progress> refill(Batch& batch) override { return file_->read(batch); }
  std::int64_t complete_until() const override { return INT64_MIN; }
  const std::vector<Interface>& interfaces() const override { return file_->interfaces(); }

 private:
  std::unique_ptr<Source> file_;
};

}  // namespace

MergedFiles::MergedFiles(std::vector<std::unique_ptr<Source>> files) {
  for (std::unique_ptr<Source>& file : files) {
    files_.push_back(file.get());
    lanes_.add(std::make_unique<FileLane>(std::move(file)));
  }
}

std::vector<std::string> MergedFiles::remarks() const {
  std::vector<std::string> all;
  for (const Source* file : files_) {
    const auto some = file->remarks();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace chokepoint::capture::source
