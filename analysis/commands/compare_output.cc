#include "analysis/commands/compare_output.h"

#include <array>
#include <filesystem>
#include <utility>

#include "base/cli/output.h"

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
  if (fs::is_directory(file, error)) {
    return fail(ErrorKind::Usage, "", file.string(), "is a folder",
                "give the name of a file, like comparison.html");
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
  const Result<std::unique_ptr<cli::Output>> output = cli::open_file(file);
  if (!output) {
    return fail(output.error());
  }
  (*output)->write(text);
  return (*output)->finish();
}

}  // namespace chokepoint::analysis
