#include "analysis/evidence/source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/sys/number.h"
#include "base/sys/ranks.h"
#include "base/sys/regular_file.h"

namespace chokepoint::analysis {

namespace {

using json::Json;

// zlib reads what is not gzip'd as it is, and several streams in a row as one.
class GzSource final : public ByteSource {
 public:
  explicit GzSource(gzFile file) : file_(file) {}
  GzSource(const GzSource&) = delete;
  GzSource& operator=(const GzSource&) = delete;
  ~GzSource() override { gzclose(file_); }

  std::size_t read(std::span<char> into) override {
    constexpr std::size_t kMaxReadBytes = std::size_t{1} << 30;  // gzread's count is an int
    const int got =
        gzread(file_, into.data(), static_cast<unsigned>(std::min(into.size(), kMaxReadBytes)));
    if (got <= 0 && flaw_.empty()) {
      int code = 0;
      const char* text = gzerror(file_, &code);
      flaw_ =
          code == Z_OK || code == Z_STREAM_END ? "" : fmt::format("cannot be unpacked: {}", text);
    }
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  std::string flaw() const override { return flaw_; }

 private:
  gzFile file_;
  std::string flaw_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : rest_(bytes) {}

  std::size_t read(std::span<char> into) override {
    const std::size_t count = std::min(into.size(), rest_.size());
    std::ranges::copy(rest_.substr(0, count), into.begin());
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

}  // namespace

void WallSpan::include(std::int64_t from_ns, std::int64_t until_ns) {
  start_ns = is_known() ? std::min(start_ns, from_ns) : from_ns;
  end_ns = std::max(end_ns, until_ns);
}

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  TRY(sys::Descriptor opened, sys::open_named("", path));
  const gzFile file = gzdopen(opened.get(), "rb");
  if (file == nullptr) {
    return fail(from_errno(ENOMEM, "", path));
  }
  constexpr unsigned kBufferBytes = 256U << 10;
  gzbuffer(file, kBufferBytes);
  opened.release();  // closed with the file
  return std::make_unique<GzSource>(file);
}

std::unique_ptr<ByteSource> bytes_of(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

Peeked::Peeked(ByteSource& below, std::size_t bytes) : below_(below), head_(bytes, '\0') {
  std::size_t filled = 0;
  while (filled < head_.size()) {
    const std::size_t got = below_.read(std::span(head_).subspan(filled));
    if (got == 0) {
      break;
    }
    filled += got;
  }
  head_.resize(filled);
}

std::size_t Peeked::read(std::span<char> into) {
  if (given_ == head_.size()) {
    return below_.read(into);
  }
  const std::size_t count = std::min(into.size(), head_.size() - given_);
  std::copy_n(head_.data() + given_, count, into.data());
  given_ += count;
  return count;
}

Result<std::string> all_of(ByteSource& source, std::size_t most_bytes, const std::string& file) {
  constexpr std::size_t kLeastReadBytes = std::size_t{64} << 10;
  constexpr std::size_t kMostReadBytes = std::size_t{4} << 20;
  std::string text;
  for (std::size_t got = 1; got > 0;) {
    const std::size_t before = text.size();
    text.resize(before + std::clamp(before, kLeastReadBytes, kMostReadBytes));
    got = source.read(std::span(text).subspan(before));
    text.resize(before + got);
    if (text.size() > most_bytes) {
      return malformed(file, fmt::format("is larger than {} MB", most_bytes >> 20));
    }
  }
  if (!source.flaw().empty()) {
    return malformed(file, source.flaw());
  }
  return text;
}

std::optional<std::int64_t> rank_in_name(const std::string& file, bool takes_any) {
  constexpr std::string_view kWord = "rank";
  constexpr std::string_view kDigits = "0123456789";
  const std::string name = std::filesystem::path(file).filename().string();
  const auto number_at = [&](std::size_t begin) {
    const std::size_t end = std::min(name.find_first_not_of(kDigits, begin), name.size());
    const auto rank =
        sys::parse_number<std::int64_t>(std::string_view(name).substr(begin, end - begin));
    return is_rank(rank) ? rank : std::nullopt;
  };
  if (const std::size_t word = name.rfind(kWord); word != std::string::npos) {
    const std::size_t begin = name.find_first_not_of("-_.", word + kWord.size());
    return begin == std::string::npos ? std::nullopt : number_at(begin);
  }
  const std::size_t last = takes_any ? name.find_last_of(kDigits) : std::string::npos;
  if (last == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t before = name.find_last_not_of(kDigits, last);
  return number_at(before == std::string::npos ? 0 : before + 1);
}

std::int64_t wall_ns_of(std::string_view text) {
  constexpr std::int64_t kNsInSecond = 1'000'000'000;
  constexpr std::int64_t kMaxSecond = 4'102'444'800;  // the year 2100
  std::string own(text.substr(0, 19));                // "2026-11-26T21:04:05"
  std::ranges::replace(own, ' ', 'T');
  std::tm time{};
  time.tm_isdst = -1;
  const char* rest = strptime(own.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) {
    return 0;
  }
  const bool is_utc = text.ends_with('Z');
  const auto seconds = static_cast<std::int64_t>(is_utc ? timegm(&time) : mktime(&time));
  return seconds > 0 && seconds < kMaxSecond ? seconds * kNsInSecond : 0;
}

std::unexpected<Error> malformed(const std::string& file, std::string_view reason) {
  return fail(ErrorKind::Malformed, "", file, reason);
}

Result<Json> parsed_json(std::string_view text, const std::string& file) {
  std::array<std::size_t, json::kMaxDepth + 2> keys{};
  const char* flaw = "";
  const auto look = [&](int depth, Json::parse_event_t event, Json&) {
    using enum Json::parse_event_t;
    if (event == object_start || event == array_start) {
      flaw = depth >= json::kMaxDepth ? "is nested too deeply" : flaw;
      keys.at(std::min<std::size_t>(static_cast<std::size_t>(depth) + 1, keys.size() - 1)) = 0;
    }
    if (event == key && ++keys.at(std::min<std::size_t>(static_cast<std::size_t>(depth),
                                                        keys.size() - 1)) > kMaxKeys) {
      flaw = "has an object of too many fields";
    }
    return *flaw == '\0';
  };
  Json parsed;
  try {
    parsed = Json::parse(text, look, false);
  } catch (const Json::exception&) {
    // Numbers out of range throw, whatever type is read.
    flaw = "has a number that is none";
  }
  if (*flaw != '\0') {
    return malformed(file, flaw);
  }
  return parsed.is_discarded() ? malformed(file, "is no complete JSON document")
                               : Result<Json>(parsed);
}

const Json& member(const Json& object, const char* key) {
  static const Json none;
  const auto at = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && at != object.end() ? *at : none;
}

const Json& list_in(const Json& object, const char* key) {
  static const Json empty = Json::array();
  const Json& value = member(object, key);
  return value.is_array() ? value : empty;
}

const Json& object_in(const Json& object, const char* key) {
  static const Json empty = Json::object();
  const Json& value = member(object, key);
  return value.is_object() ? value : empty;
}

std::string text_in(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get_ref<const std::string&>().substr(0, kMaxFieldBytes) : "";
}

std::optional<std::int64_t> whole_of(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= INT64_MAX ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (!value.is_string()) {
    return std::nullopt;
  }
  return sys::parse_number<std::int64_t>(value.get_ref<const std::string&>());
}

std::optional<std::int64_t> whole_in(const Json& object, const char* key) {
  return whole_of(member(object, key));
}

std::optional<double> number_in(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_number() && std::isfinite(value.get<double>())
             ? std::optional(value.get<double>())
             : std::nullopt;
}

bool is_rank(std::optional<std::int64_t> rank) { return rank && sys::is_rank(*rank); }

std::vector<std::string_view> words_of(std::string_view line, std::string_view blanks) {
  constexpr std::size_t kMaxWords = 64;
  const bool keeps_empty = blanks.size() == 1;
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= line.size() && words.size() < kMaxWords;) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    if (end > at || keeps_empty) {
      words.push_back(line.substr(at, end - at));
    }
    at = end + 1;
  }
  return words;
}

std::string_view word_behind(std::string_view text, std::string_view label) {
  const std::size_t found = text.find(label);
  if (found == std::string_view::npos) {
    return {};
  }
  const std::size_t begin = text.find_first_not_of(" \t:", found + label.size());
  if (begin == std::string_view::npos || text.substr(0, begin).find('\n', found) != text.npos) {
    return {};
  }
  return text.substr(begin, std::min(text.find_first_of(" \t\r\n", begin), text.size()) - begin);
}

}  // namespace chokepoint::analysis
