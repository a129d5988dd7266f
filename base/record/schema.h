// The record's tables as SQL, and the migration from every older schema to this one.
// docs/internals/record.md explains the columns. Pure functions over an open database; the
// caller's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/record/database.h"
#include "base/record/entities.h"
#include "base/sys/clock.h"
#include "base/sys/root.h"

namespace chokepoint::record {

// "CHKP": marks a record among SQLite files (PRAGMA application_id).
constexpr std::int64_t kApplicationId = 0x43484b50;
constexpr std::int64_t kSchemaVersion = 4;

// steps[n] leads from schema n to schema n + 1; schema 0 is an empty database. A step that has been
// released is never changed.
using Migrations = std::span<const std::string>;
Migrations migrations();

// What to do about a record that is not whole.
constexpr const char* kCopyAgain = "copy it again, together with its -wal";

enum class Content { Empty, Older, Current };

// What the database holds; an Error where it is another program's or a newer version's.
Result<Content> identify(Database& database, std::int64_t newest = kSchemaVersion);

// An Error where a record's schema is not that of its version, to the column: a view, a trigger
// or a virtual table under any name, a table that is missing, columns that are others. Other tables
// and indexes may be there; they are never read. Nothing of the file's schema is run.
Result<> check_schema(Database& database, std::int64_t newest = kSchemaVersion);

// Brings the database to the newest schema in one transaction.
Result<> migrate(Database& database, Migrations steps = migrations());

// Who writes a record, read under the given root, and how a later boot's clock joins an earlier
// one's. Pure functions.

// The command line as a shell would take it.
std::string shell_line(std::span<const std::string> arguments);

// Fills host, boot and kernel from the root, the start from the clock, and the shift so that times
// go on after those of the sessions before.
Session begin_session(Session session, const std::vector<Session>& before, const sys::Root& root,
                      const sys::Clock& clock);

}  // namespace chokepoint::record
