// The ways to a record that is to be read: beside its writer where that can be done; as it is where
// nothing may be written beside it and no log is left over; else by a private copy, in which the
// log of a killed writer is joined and an older schema brought up to date. The caller's thread.
#pragma once

#include <filesystem>
#include <optional>

#include "base/record/database.h"
#include "base/record/private_folder.h"
#include "base/record/schema.h"

namespace chokepoint::record {

struct Opened {
  std::optional<PrivateFolder> copy;  // where `database` lies, if it is a copy
  Database database;
  std::optional<Error> damage;
  Content content;
};

Result<Opened> open_to_read(const std::filesystem::path& path);

}  // namespace chokepoint::record
