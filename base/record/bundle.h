// How records get from one host to another: 'chokepoint record send' writes a bundle to its
// standard output, which 'chokepoint collect' reads at the other end of an ssh.
//
//   {"format": "chokepoint.records/1", "run": "812"}                      a line
//   {"name": "a.db", "bytes": 245760, "from": 0, "hash": "…", "is_live": false}
//   245760 bytes, less `from`
//   {"name": "b.db", …}
//   …
//   {"end": 2}                                                            records in all
//
// The reader sends beforehand the length and hash of what it has of a record; if the record still
// begins with that, only the rest is sent. Nothing in a bundle is trusted: lines and sizes are
// bounded, names are plain names of records, contents must have their hash. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/fields.h"
#include "base/sys/error.h"

namespace chokepoint::record {

struct BundleHead {
  std::string format = {};
  std::string run = {};
};

struct BundleEntry {
  std::string name = {};
  std::int64_t bytes = 0;
  std::int64_t from = 0;  // the reader has the bytes before
  std::string hash = {};  // of all bytes: BLAKE2b, 32 bytes, in hexadecimal
  bool is_live = false;   // a process was writing it
};

// The beginning of a record that is there already: "a.db=4096:HASH".
struct Beginning {
  std::string name = {};
  std::int64_t bytes = 0;
  std::string hash = {};
};
std::string text_of(const Beginning& beginning);
Result<Beginning> beginning_in(std::string_view text);

// Of a file's first bytes.
Result<std::string> hash_of(const std::filesystem::path& file, std::int64_t bytes);

// The bytes that there are, none at the end.
using ReadBytes = std::function<Result<std::size_t>(std::span<char> into)>;
using WriteBytes = std::function<Result<>(std::string_view bytes)>;

// The records of a folder, each as SQLite's backup has it at one moment, also while it is written.
// What cannot be read is left out; the reasons are returned.
Result<std::vector<Error>> send_records(const std::filesystem::path& folder,
                                        const std::vector<Beginning>& there,
                                        const WriteBytes& write);

class BundleReader {
 public:
  explicit BundleReader(ReadBytes read) : read_(std::move(read)) {}

  Result<BundleHead> head();
  // nullopt at the end, which must be there. The bytes of the one before have been taken.
  Result<std::optional<BundleEntry>> next();
  // The entry's bytes, from entry.from on.
  Result<> take(const BundleEntry& entry, const WriteBytes& write);

 private:
  Result<std::string> line();
  Result<bool> fill();

  ReadBytes read_;
  std::string buffer_;
  std::int64_t count_ = 0;
};

}  // namespace chokepoint::record

template <>
struct chokepoint::Fields<chokepoint::record::BundleHead> {
  using H = record::BundleHead;
  static constexpr FieldList kList{
      field("format", &H::format, "chokepoint.records/1").up_to_bytes(64),
      field("run", &H::run, "the folder's name").up_to_bytes(255)};
};
template <>
struct chokepoint::Fields<chokepoint::record::BundleEntry> {
  using E = record::BundleEntry;
  static constexpr FieldList kList{
      field("name", &E::name, "name of the record's file").up_to_bytes(255),
      field("bytes", &E::bytes, "size of the whole file").at_least(0).at_most(4.3e9),
      field("from", &E::from, "first byte in the bundle; the reader has the bytes before it")
          .at_least(0)
          .at_most(4.3e9),
      field("hash", &E::hash, "BLAKE2b hash of all bytes").up_to_bytes(64),
      field("is_live", &E::is_live, "the record was still being written")};
};
