#include "tests/probe/collective/made/folder_store.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

namespace chokepoint::probe::collective {

FolderStore::FolderStore(std::filesystem::path folder, std::chrono::milliseconds deadline)
    : folder_(std::move(folder)), deadline_(deadline) {}

std::filesystem::path FolderStore::path_of(const std::string& key) const {
  std::string name = key;
  std::ranges::replace(name, '/', '-');
  return folder_ / name;
}

Result<> FolderStore::set(const std::string& key, const std::string& value) {
  const std::filesystem::path path = path_of(key);
  const std::filesystem::path written = path.string() + ".part";
  std::ofstream(written) << value;
  std::filesystem::rename(written, path);
  return {};
}

Result<std::string> FolderStore::get(const std::string& key) {
  const auto until = std::chrono::steady_clock::now() + deadline_;
  while (!std::filesystem::exists(path_of(key))) {
    if (std::chrono::steady_clock::now() > until) {
      return fail(ErrorKind::Timeout, "meet", key, "nobody has set it");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::ifstream file(path_of(key));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

FreshFolder::FreshFolder() {
  std::string made = (std::filesystem::temp_directory_path() / "collective.XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) {
    std::abort();
  }
  path_ = made;
}

FreshFolder::~FreshFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace chokepoint::probe::collective
