#include "base/record/bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"
#include "base/record/opening.h"
#include "base/record/runs.h"
#include "base/sys/number.h"
#include "base/sys/regular_file.h"

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBundleFormat = "chokepoint.records/1";
constexpr const char* kBundle = "bundle of records";
constexpr std::size_t kMaxLineBytes = 4096;
constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::size_t kHashBytes = crypto_generichash_BYTES;
constexpr std::size_t kMaxRecords = 10'000;

std::unexpected<Error> malformed(std::string_view why) {
  return fail(ErrorKind::Malformed, "collect", "", why, "is it the same version there?");
}

std::string line_of(const json::Json& json) { return json.dump() + "\n"; }

// What a peer calls a record becomes a file's name here.
bool is_record_name(std::string_view name) {
  return name.size() > 3 && name.ends_with(".db") && name.front() != '.' &&
         std::ranges::none_of(name, [](char c) {
           return c == '/' || static_cast<unsigned char>(c) < ' ' || c == '\x7f';
         });
}

bool is_hash(std::string_view text) {
  return text.size() == 2 * kHashBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class Hasher {
 public:
  Hasher() {
    [[maybe_unused]] static const int ready = sodium_init();
    crypto_generichash_init(&state_, nullptr, 0, kHashBytes);
  }
  void add(std::string_view bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  }
  std::string hex() {
    std::array<unsigned char, kHashBytes> hash{};
    crypto_generichash_final(&state_, hash.data(), hash.size());
    std::string text;
    for (const unsigned char byte : hash) {
      text += fmt::format("{:02x}", byte);
    }
    return text;
  }

 private:
  crypto_generichash_state state_{};
};

// The bytes of a file between two places, in pieces.
template <class Take>
Result<> each_piece(const fs::path& file, std::int64_t from, std::int64_t to, Take&& take) {
  TRY(const sys::Descriptor opened, sys::open_regular("collect", file, O_RDONLY));
  std::string piece(kPieceBytes, '\0');
  while (from < to) {
    const auto wanted = static_cast<std::size_t>(
        std::min<std::int64_t>(to - from, static_cast<std::int64_t>(piece.size())));
    const ssize_t count = pread(opened.get(), piece.data(), wanted, from);
    if (count <= 0) {
      return fail(from_errno(count < 0 ? errno : EIO, "collect", file.string()));
    }
    TRY(take(std::string_view(piece).substr(0, static_cast<std::size_t>(count))));
    from += count;
  }
  return {};
}

// A backup has no holes: all of a file's pages are written.
Result<> check_size(Database& database, const fs::path& record, const fs::path& folder) {
  TRY(const std::int64_t pages, database.number("PRAGMA page_count"));
  TRY(const std::int64_t page_bytes, database.number("PRAGMA page_size"));
  const std::int64_t bytes = pages * page_bytes;
  if (bytes - database.bytes() > kMaxZeros) {
    return fail(ErrorKind::Malformed, "record", record.string(),
                fmt::format("of its {} bytes only {} are stored, the rest are holes", bytes,
                            database.bytes()),
                kCopyAgain);
  }
  return sys::want_room(folder, bytes, "copy the record to", kOtherTemporary);
}

struct Backup {
  fs::path file = {};
  BundleEntry entry = {};
};

Result<Backup> back_up(const fs::path& record, const fs::path& folder) {
  TRY(Opened opened, open_to_read(record));
  Backup backup{.file = folder / record.filename(),
                .entry = {.name = record.filename(), .is_live = is_being_written(record)}};
  TRY(check_size(opened.database, record, folder));
  TRY(opened.database.copy_to(backup.file));
  std::error_code failed;
  backup.entry.bytes = static_cast<std::int64_t>(fs::file_size(backup.file, failed));
  TRY(backup.entry.hash, hash_of(backup.file, backup.entry.bytes));
  return backup;
}

// How much of it the reader has.
std::int64_t agreed(const Backup& backup, const std::vector<Beginning>& there) {
  const auto known = std::ranges::find(there, backup.entry.name, &Beginning::name);
  if (known == there.end() || known->bytes > backup.entry.bytes) {
    return 0;
  }
  const auto hash = hash_of(backup.file, known->bytes);
  return hash && *hash == known->hash ? known->bytes : 0;
}

Result<> send_one(const fs::path& record, const fs::path& folder,
                  const std::vector<Beginning>& there, const WriteBytes& write) {
  TRY(Backup backup, back_up(record, folder));
  backup.entry.from = agreed(backup, there);
  TRY(write(line_of(json::to_json(backup.entry))));
  TRY(each_piece(backup.file, backup.entry.from, backup.entry.bytes, write));
  std::error_code failed;
  fs::remove(backup.file, failed);
  return {};
}

}  // namespace

std::string text_of(const Beginning& beginning) {
  return fmt::format("{}={}:{}", beginning.name, beginning.bytes, beginning.hash);
}

Result<Beginning> beginning_in(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::size_t colon = text.rfind(':');
  const bool is_whole =
      equals != std::string_view::npos && colon != std::string_view::npos && colon > equals;
  const auto bytes =
      is_whole ? sys::parse_non_negative<std::int64_t>(text.substr(equals + 1, colon - equals - 1))
               : std::nullopt;
  if (!bytes || !is_hash(text.substr(colon + 1))) {
    return fail(ErrorKind::Usage, "--have", text, "not of the form NAME=BYTES:HASH");
  }
  return Beginning{.name = std::string(text.substr(0, equals)),
                   .bytes = *bytes,
                   .hash = std::string(text.substr(colon + 1))};
}

Result<std::string> hash_of(const fs::path& file, std::int64_t bytes) {
  Hasher hasher;
  TRY(each_piece(file, 0, bytes, [&](std::string_view piece) -> Result<> {
    hasher.add(piece);
    return {};
  }));
  return hasher.hex();
}

Result<std::vector<Error>> send_records(const fs::path& folder, const std::vector<Beginning>& there,
                                        const WriteBytes& write) {
  TRY(const std::vector<fs::path> records, record_files(folder));
  if (records.empty()) {
    return fail(ErrorKind::NotFound, "", folder.string(), "holds no run record (*.db)");
  }
  std::error_code failed;
  const fs::path whole = fs::canonical(folder, failed);
  const fs::path run = fs::is_directory(whole, failed) ? whole : whole.parent_path();
  TRY(write(
      line_of(json::to_json(BundleHead{.format = kBundleFormat, .run = run.filename().string()}))));
  TRY(const PrivateFolder copies, PrivateFolder::make());
  std::vector<Error> left_out;
  std::int64_t sent = 0;
  for (const fs::path& record : records) {
    const Result<> done = send_one(record, copies.path(), there, write);
    if (done) {
      ++sent;
    } else if (done.error().operation == "write") {
      return fail(done.error());
    } else {
      left_out.push_back(done.error());
    }
  }
  TRY(write(line_of({{"end", sent}})));
  return left_out;
}

Result<bool> BundleReader::fill() {
  std::array<char, 16 << 10> bytes{};
  TRY(const std::size_t count, read_(bytes));
  buffer_.append(bytes.data(), count);
  return count > 0;
}

Result<std::string> BundleReader::line() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string text = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return text;
    }
    if (buffer_.size() > kMaxLineBytes) {
      return malformed("what came is no bundle of records");
    }
    TRY(const bool is_more, fill());
    if (!is_more) {
      return malformed("the connection ended before the last record");
    }
  }
}

Result<BundleHead> BundleReader::head() {
  TRY(const std::string text, line());
  TRY(const json::Json json, json::parse_object(text, kMaxLineBytes, kBundle));
  TRY(BundleHead head, json::from_json<BundleHead>(json, kBundle));
  if (head.format != kBundleFormat) {
    return fail(ErrorKind::Newer, "collect", head.format, "a bundle of another version",
                "the same version is needed at both ends");
  }
  return head;
}

Result<std::optional<BundleEntry>> BundleReader::next() {
  TRY(const std::string text, line());
  TRY(const json::Json json, json::parse_object(text, kMaxLineBytes, kBundle));
  if (json.contains("end")) {
    TRY(const auto records, json::field_in<std::int64_t>(json, "end", kBundle));
    return records == count_ ? Result<std::optional<BundleEntry>>(std::nullopt)
                             : malformed("some records did not come");
  }
  TRY(BundleEntry entry, json::from_json<BundleEntry>(json, kBundle));
  if (!is_record_name(entry.name) || !is_hash(entry.hash) || entry.from > entry.bytes ||
      ++count_ > static_cast<std::int64_t>(kMaxRecords)) {
    return malformed("what came is no record");
  }
  return entry;
}

Result<> BundleReader::take(const BundleEntry& entry, const WriteBytes& write) {
  std::int64_t left = entry.bytes - entry.from;
  while (left > 0) {
    if (buffer_.empty()) {
      TRY(const bool is_more, fill());
      if (!is_more) {
        return malformed("the connection ended within a record");
      }
    }
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(left, static_cast<std::int64_t>(buffer_.size())));
    TRY(write(std::string_view(buffer_).substr(0, count)));
    buffer_.erase(0, count);
    left -= static_cast<std::int64_t>(count);
  }
  return {};
}

}  // namespace chokepoint::record
