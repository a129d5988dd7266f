// A run's records as the project's own writer makes them, small and with some of everything that a
// reader looks at, and edits of what stands in them: a fuzz target of readers gets past the file
// format this way, and has any value in any column. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/record/database.h"

namespace chokepoint::fuzz {

// The input of a fuzz target, taken piece by piece. At its end there are zeros.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> left) : left_(left) {}

  bool empty() const { return left_.empty(); }
  std::uint8_t byte();
  std::int64_t number();  // of eight bytes
  std::string text();     // with its length before it
  std::size_t below(std::size_t count) { return byte() % count; }

 private:
  std::span<const std::uint8_t> left_;
};

// The records, in a folder of their own that is gone with this. `restore` undoes all edits.
class MadeRecord {
 public:
  MadeRecord();
  ~MadeRecord();
  MadeRecord(const MadeRecord&) = delete;
  MadeRecord& operator=(const MadeRecord&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  void restore() const;
  // Does to the rows of the records what the bytes say. What SQLite refuses is left out.
  void edit(Bytes& bytes) const;

  // A column that holds whole numbers.
  struct Column {
    std::string table;
    std::string name;
  };
  static std::vector<Column> number_columns();
  // In the first record alone; `rows` as SQL names them.
  void set(const Column& column, std::int64_t value, const std::string& rows) const;

 private:
  struct File {
    std::string name;
    std::string content;
  };

  std::filesystem::path folder_;
  std::vector<File> files_;
};

}  // namespace chokepoint::fuzz
