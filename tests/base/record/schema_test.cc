#include "base/record/schema.h"

#include <gtest/gtest.h>

#include <array>

#include "base/record/opening.h"
#include "base/record/row.h"

namespace chokepoint::record {
namespace {

class Schema : public testing::Test {
 protected:
  Database open(const char* name = "a.db") {
    return std::move(*Database::open(folder_.path() / name, Access::Write));
  }
  PrivateFolder folder_ = std::move(*PrivateFolder::make());
};

template <class Row>
std::string columns_in(Database& database) {
  auto statement =
      database.prepare(std::string("SELECT group_concat(name) FROM pragma_table_info('") +
                       Fields<Row>::kTable + "')");
  std::string names;
  if (statement && statement->step()) {
    statement->read(0, names);
  }
  return names;
}

template <class Row>
void expect_columns_of(Database& database) {
  EXPECT_EQ(columns_in<Row>(database), column_list<Row>()) << Fields<Row>::kTable;
}

template <class... Rows>
void expect_columns(Database& database, const std::variant<Rows...>* /*of*/) {
  (expect_columns_of<Rows>(database), ...);
}

TEST_F(Schema, ColumnsStandInTheTablesAsTheRowsListThem) {
  Database database = open();
  ASSERT_TRUE(migrate(database));
  expect_columns(database, static_cast<const Sample*>(nullptr));
  expect_columns(database, static_cast<const Entity*>(nullptr));
}

TEST_F(Schema, MigratesAnEmptyFileOnceAndMarksIt) {
  Database database = open();
  EXPECT_EQ(*identify(database), Content::Empty);
  ASSERT_TRUE(migrate(database));
  ASSERT_TRUE(migrate(database));
  EXPECT_EQ(*identify(database), Content::Current);
  EXPECT_EQ(*database.number("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(*database.number("PRAGMA user_version"), kSchemaVersion);
}

TEST_F(Schema, RunsOnlyTheStepsThatAnOlderRecordMisses) {
  const std::array<std::string, 3> steps{"CREATE TABLE t(a);INSERT INTO t VALUES(1);",
                                         "ALTER TABLE t ADD COLUMN b DEFAULT 7;",
                                         "UPDATE t SET b=b+a;"};
  Database database = open();
  ASSERT_TRUE(migrate(database, std::span(steps).first(1)));
  EXPECT_EQ(*identify(database, 3), Content::Older);
  ASSERT_TRUE(migrate(database, steps));
  EXPECT_EQ(*database.number("SELECT b FROM t"), 8);
  EXPECT_EQ(*database.number("PRAGMA user_version"), 3);
}

TEST_F(Schema, AStepThatFailsLeavesTheOlderRecordAsItWas) {
  const std::array<std::string, 2> steps{"CREATE TABLE t(a);",
                                         "ALTER TABLE t ADD COLUMN b;CREATE NONSENSE;"};
  Database database = open();
  ASSERT_TRUE(migrate(database, std::span(steps).first(1)));
  EXPECT_FALSE(migrate(database, steps));
  EXPECT_EQ(*database.number("PRAGMA user_version"), 1);
  EXPECT_FALSE(database.number("SELECT b FROM t"));
}

TEST_F(Schema, TellsANewerSchemaAndAForeignFile) {
  Database newer = open("newer.db");
  ASSERT_TRUE(migrate(newer));
  ASSERT_TRUE(newer.run("PRAGMA user_version=9"));
  EXPECT_EQ(identify(newer).error().kind, ErrorKind::Newer);
  EXPECT_FALSE(migrate(newer));

  Database foreign = open("foreign.db");
  ASSERT_TRUE(foreign.run("CREATE TABLE bookmarks(url)"));
  EXPECT_EQ(identify(foreign).error().kind, ErrorKind::Malformed);
  EXPECT_FALSE(migrate(foreign));
  EXPECT_EQ(*foreign.number("PRAGMA application_id"), 0);
}

}  // namespace
}  // namespace chokepoint::record
