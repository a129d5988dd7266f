#include "analysis/commands/compare_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/sys/descriptor.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

using Name = std::pair<std::string_view, Form>;

template <std::size_t N>
std::optional<Form> named(const std::array<Name, N>& names, std::string_view name) {
  for (const auto& [known, form] : names) {
    if (known == name) {
      return form;
    }
  }
  return std::nullopt;
}

Result<> check_place(const fs::path& file) {
  if (file.extension() == ".db") {
    return fail(ErrorKind::Usage, "", file.string(), "is the name of a run's record",
                "give another, like comparison.html");
  }
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return fail(ErrorKind::Usage, "", file.string(), "is no file",
                "give the name of a file, like comparison.html");
  }
  return {};
}

Result<> write_all(int fd, std::string_view text, const std::string& file) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return fail(from_errno(errno, "", file));
    }
    text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return {};
}

}  // namespace

Result<Form> form_of(const std::string& format, const std::string& file) {
  constexpr std::array<Name, 4> kFormats{{{"text", Form::Text},
                                          {"markdown", Form::Markdown},
                                          {"csv", Form::Csv},
                                          {"html", Form::Html}}};
  constexpr std::array<Name, 6> kEndings{{{".txt", Form::Text},
                                          {".md", Form::Markdown},
                                          {".csv", Form::Csv},
                                          {".html", Form::Html},
                                          {".htm", Form::Html},
                                          {".json", Form::Json}}};
  if (!format.empty()) {
    return named(kFormats, format).value_or(Form::Text);
  }
  if (file.empty()) {
    return Form::Text;
  }
  const std::optional<Form> form = named(kEndings, fs::path(file).extension().string());
  return form ? Result<Form>(*form)
              : fail(ErrorKind::Usage, "", "-o " + file, "the name does not tell the format",
                     "end it with .html, .md, .csv, .json or .txt, or give --format");
}

Result<> write_file(const std::string& file, const std::string& text) {
  if (const Result<> sound = check_place(file); !sound) {
    return sound;
  }
  const std::string beside = file + ".part";
  const sys::Descriptor open(
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!open) {
    return fail(from_errno(errno, "", file));
  }
  Result<> written = write_all(open.get(), text, file);
  if (written && ::rename(beside.c_str(), file.c_str()) != 0) {
    written = fail(from_errno(errno, "", file));
  }
  if (!written) {
    ::unlink(beside.c_str());
  }
  return written;
}

}  // namespace chokepoint::analysis
