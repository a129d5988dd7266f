#include "base/record/bundle.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

using testing::HasSubstr;

// What a sender writes, given to a reader in pieces of a few bytes.
class Bundle : public RecordFolder {
 protected:
  std::string sent(const std::vector<Beginning>& there = {}) {
    std::string text;
    const auto left_out = send_records(folder(), there, [&](std::string_view bytes) -> Result<> {
      text += bytes;
      return {};
    });
    EXPECT_TRUE(left_out) << describe(left_out.error());
    EXPECT_TRUE(left_out && left_out->empty());
    return text;
  }

  static BundleReader reader_of(const std::string& text) {
    return BundleReader([&text, at = std::size_t{0}](std::span<char> into) mutable {
      const std::size_t count = std::min({into.size(), text.size() - at, std::size_t{7}});
      std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), count, into.begin());
      at += count;
      return Result<std::size_t>(count);
    });
  }

  static Error error_of(const std::string& text) {
    BundleReader reader = reader_of(text);
    if (const auto head = reader.head(); !head) {
      return head.error();
    }
    for (;;) {
      const auto entry = reader.next();
      if (!entry) {
        return entry.error();
      }
      if (!*entry) {
        return {};
      }
      if (const Result<> taken =
              reader.take(**entry, [](std::string_view) -> Result<> { return {}; });
          !taken) {
        return taken.error();
      }
    }
  }

  static std::string entry_line(const std::string& name, const std::string& bytes) {
    return R"({"name":")" + name + R"(","bytes":)" + bytes + R"(,"from":0,"hash":")" +
           std::string(64, 'a') + R"(","is_live":false})" + "\n";
  }

  const std::string head_ = "{\"format\":\"chokepoint.records/1\",\"run\":\"812\"}\n";
};

TEST_F(Bundle, BringsARecordWhole) {
  open_writer()->close();
  const std::string text = sent();
  BundleReader reader = reader_of(text);
  EXPECT_EQ(reader.head()->run, "run");
  const auto entry = reader.next();
  ASSERT_TRUE(entry && *entry);
  EXPECT_EQ((*entry)->name, "n1.db");
  EXPECT_FALSE((*entry)->is_live);
  std::string content;
  ASSERT_TRUE(reader.take(**entry, [&](std::string_view bytes) -> Result<> {
    content += bytes;
    return {};
  }));
  EXPECT_EQ(static_cast<std::int64_t>(content.size()), (*entry)->bytes);
  const auto copy = folder_.path() / "copy.db";
  std::ofstream(copy, std::ios::binary) << content;
  EXPECT_EQ(*hash_of(copy, (*entry)->bytes), (*entry)->hash);
  EXPECT_EQ(Reader::open(copy)->sessions().size(), 1U);
  EXPECT_FALSE(*reader.next());
}

TEST_F(Bundle, ARecordThatIsBeingWrittenIsWholeToo) {
  const auto writer = open_writer();
  writer->add(Label{.key = "setup", .value = "2x1"});
  const std::string text = sent();
  BundleReader reader = reader_of(text);
  ASSERT_TRUE(reader.head());
  EXPECT_TRUE((*reader.next())->is_live);
}

TEST_F(Bundle, WhatIsThereAlreadyIsNotSentAgain) {
  open_writer()->close();
  const std::string whole = sent();
  BundleReader first = reader_of(whole);
  ASSERT_TRUE(first.head());
  const BundleEntry all = **first.next();
  const auto copy = folder_.path() / "copy.db";
  {
    std::ofstream file(copy, std::ios::binary);
    ASSERT_TRUE(first.take(all, [&](std::string_view bytes) -> Result<> {
      file << bytes;
      return {};
    }));
  }
  for (const std::int64_t bytes : {all.bytes, all.bytes / 2, std::int64_t{0}}) {
    const std::string text =
        sent({{.name = "n1.db", .bytes = bytes, .hash = *hash_of(copy, bytes)}});
    BundleReader reader = reader_of(text);
    ASSERT_TRUE(reader.head());
    const BundleEntry entry = **reader.next();
    EXPECT_EQ(entry.from, bytes);
    EXPECT_EQ(entry.hash, all.hash) << "a backup of an unchanged record is the same each time";
  }
  const std::string other = sent({{.name = "n1.db", .bytes = 4096, .hash = std::string(64, '0')}});
  BundleReader reader = reader_of(other);
  ASSERT_TRUE(reader.head());
  EXPECT_EQ((*reader.next())->from, 0);
}

TEST_F(Bundle, WhatIsNoneIsRefused) {
  EXPECT_THAT(error_of("Welcome to gpu1!\n").reason, HasSubstr("JSON"));
  EXPECT_EQ(error_of(R"({"format":"chokepoint.records/2","run":""})"
                     "\n")
                .kind,
            ErrorKind::Newer);
  EXPECT_EQ(error_of(std::string(100'000, 'x')).reason, "what came is no bundle of records");
  EXPECT_EQ(error_of(head_).reason, "the connection ended before the last record");
  EXPECT_EQ(error_of(head_ + entry_line("a.db", "9") + "short").reason,
            "the connection ended within a record");
  EXPECT_EQ(error_of(head_ + "{\"end\":1}\n").reason, "some records did not come");
  EXPECT_EQ(error_of(head_ + "{\"end\":0}\n").reason, "");
}

TEST_F(Bundle, NamesLeadNowhereElse) {
  for (const char* name :
       {"../a.db", "/etc/a.db", "a/b.db", ".a.db", ".db", "a", "a.sh", "a\\n.db"}) {
    EXPECT_EQ(error_of(head_ + entry_line(name, "0")).reason, "what came is no record") << name;
  }
  EXPECT_FALSE(error_of(head_ + entry_line("a.db", "-1")).reason.empty());
  EXPECT_FALSE(error_of(head_ + entry_line("a.db", "1e300")).reason.empty());
}

TEST(BeginningText, IsReadAsItIsWritten) {
  const Beginning beginning{.name = "a=b:c.db", .bytes = 4096, .hash = std::string(64, 'f')};
  const auto read = beginning_in(text_of(beginning));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, beginning.name);
  EXPECT_EQ(read->bytes, beginning.bytes);
  EXPECT_EQ(read->hash, beginning.hash);
  for (const char* text : {"", "a.db", "a.db=1", "a.db=x:ff", "a.db=-1:ff", "a.db=1:zz", "=:"}) {
    EXPECT_FALSE(beginning_in(text)) << text;
  }
}

}  // namespace
}  // namespace chokepoint::record
