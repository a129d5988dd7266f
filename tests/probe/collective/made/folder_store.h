// A store that threads and processes of a test share: a folder, with a file for each key.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "probe/collective/communicator.h"

namespace chokepoint::probe::collective {

class FolderStore final : public Store {
 public:
  FolderStore(std::filesystem::path folder, std::chrono::milliseconds deadline);

  Result<> set(const std::string& key, const std::string& value) override;
  Result<std::string> get(const std::string& key) override;

 private:
  std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
  std::chrono::milliseconds deadline_;
};

// Empty, and removed with the object.
class FreshFolder {
 public:
  FreshFolder();
  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;
  ~FreshFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace chokepoint::probe::collective
