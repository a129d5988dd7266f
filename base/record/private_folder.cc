#include "base/record/private_folder.h"

#include <stdlib.h>

#include <cerrno>

namespace chokepoint::record {

namespace fs = std::filesystem;

Result<PrivateFolder> PrivateFolder::make() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "chokepoint-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    Error failed = from_errno(error ? error.value() : errno, "copy the record to", name);
    failed.next_step = "set TMPDIR to a folder that can be written to";
    return fail(std::move(failed));
  }
  return PrivateFolder(name);
}

PrivateFolder::~PrivateFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

}  // namespace chokepoint::record
