// Holds every number of the report's parts that stands in a record against plain SQL over that
// record: none of the code in between has a say in what is expected. Failures are GoogleTest's.
//
//   RecordWalk walk(folder);
//   walk.flows(document["flows"]);
//
// One thread; borrows nothing.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/output.h"
#include "base/record/database.h"

namespace chokepoint::analysis {

class RecordWalk {
 public:
  using Texts = std::vector<std::string>;

  explicit RecordWalk(const std::filesystem::path& folder);

  void flows(const cli::Json& flows);
  void matrix(const cli::Json& matrix);
  void hosts(const cli::Json& hosts);
  std::size_t compared() const { return compared_; }

 private:
  // What a query calls `value`, of all rows where it is not NULL; nothing of a record there is not.
  Texts texts(const std::string& node, const std::string& sql, const Texts& values = {});
  // Of the first such row.
  std::optional<std::string> text(const std::string& node, const std::string& sql,
                                  const Texts& values = {});
  std::optional<double> number(const std::string& node, const std::string& sql,
                               const Texts& values = {});
  void same(const cli::Json& shown, std::optional<double> expected, const std::string& what);
  void same(const cli::Json& shown, const std::optional<std::string>& expected,
            const std::string& what);

  void way(const cli::Json& flow, int direction);
  void interface(const cli::Json& interface, const std::string& node);
  Texts addresses_of(const std::string& name);
  std::optional<double> sent(const std::string& from, const std::string& to);

  std::map<std::string, record::Database> records_;
  std::size_t compared_ = 0;
};

}  // namespace chokepoint::analysis
