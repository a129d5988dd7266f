#include "analysis/commands/run_folder.h"

#include <filesystem>

namespace chokepoint::analysis {

Error without_operation(Error error) {
  error.operation.clear();
  return error;
}

std::string name_of_folder(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  return path.has_filename() ? path.string() : path.parent_path().string();
}

Result<record::Run> records_of(const std::string& folder) {
  Result<record::Run> records = record::open_run(folder);
  if (!records) {
    return fail(without_operation(records.error()));
  }
  if (records->nodes.empty()) {
    return records->unreadable.size() == 1
               ? fail(without_operation(records->unreadable.front()))
               : fail(ErrorKind::Malformed, "", folder, "none of its records can be read",
                      "'chokepoint record show' says why of each");
  }
  return records;
}

}  // namespace chokepoint::analysis
