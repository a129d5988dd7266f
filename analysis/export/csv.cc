#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <utility>

#include "analysis/export/formats.h"
#include "analysis/export/tables.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

using Text = std::pair<std::string_view, std::string_view>;

constexpr std::array kUnits{Text{"_bytes_per_s", "bytes/s"},
                            Text{"_bytes", "bytes"},
                            Text{"_packets", "packets"},
                            Text{"_ns", "ns"},
                            Text{"_us", "us"},
                            Text{"_ms", "ms"},
                            Text{"_ppm", "ppm"},
                            Text{"_per_s", "1/s"},
                            Text{"_s", "s"}};

// By the column's name: "rtt_us" is in µs. Empty where it has no unit.
std::string_view unit_of(std::string_view column) {
  if (column.starts_with("bytes")) {
    return "bytes";
  }
  const auto* const found =
      std::ranges::find_if(kUnits, [&](const Text& unit) { return column.ends_with(unit.first); });
  return found == kUnits.end() ? std::string_view() : found->second;
}

namespace fs = std::filesystem;

constexpr std::string_view kLineEnd = "\r\n";

struct CsvForm {
  static constexpr std::string_view kUnknown = {};
  static void text(std::string& out, std::string_view text) { cli::append_csv(out, text); }
};

template <class Row>
constexpr bool kHasSeries = requires(const Row& row) { row.series; };

// A sample of a series gets the columns that describe the series.
template <class Row>
std::vector<Column> all_columns_of() {
  std::vector<Column> columns = columns_of<Row>();
  columns.insert(columns.begin(), {"node", "the node whose record has the row"});
  if constexpr (kHasSeries<Row>) {
    columns.insert(columns.end(), {{"name", "name of the series"},
                                   {"subject", "what it is about: an interface, a core, a process"},
                                   {"unit", "unit of the series' values"}});
  }
  return columns;
}

// Files that are opened here disappear again unless keep() succeeds, and so does a folder that was
// created for them.
class Folder {
 public:
  explicit Folder(fs::path path) : path_(std::move(path)) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    files_.clear();
    if (is_mine_ && !is_kept_) {
      std::error_code ignored;
      fs::remove(path_, ignored);  // only where it is empty
    }
  }

  Result<> make() {
    std::error_code error;
    is_mine_ = fs::create_directory(path_, error);
    if (!error && fs::is_directory(path_, error)) {
      return {};
    }
    Error failed = from_errno(error ? error.value() : ENOTDIR, "", path_.string());
    failed.next_step = "give a folder with -o; the one that it lies in must be there";
    return fail(std::move(failed));
  }

  std::string name() const { return path_.string(); }

  Result<cli::Output*> open(const std::string& name) {
    TRY(std::unique_ptr<cli::Output> file, cli::open_own_file(path_ / (name + ".csv")));
    files_.push_back({path_ / (name + ".csv"), std::move(file)});
    return files_.back().output.get();
  }

  Result<std::vector<WrittenFile>> keep() {
    for (const File& file : files_) {
      TRY(file.output->settle());
    }
    std::vector<WrittenFile> written;
    for (const File& file : files_) {
      TRY(file.output->finish());
      is_kept_ = true;
      written.push_back({file.path, file.output->bytes()});
    }
    return written;
  }

 private:
  struct File {
    fs::path path;
    std::unique_ptr<cli::Output> output;
  };

  fs::path path_;
  bool is_mine_ = false;
  bool is_kept_ = false;
  std::vector<File> files_;
};

void put_line(cli::Output& out, const std::vector<std::string>& cells) {
  for (std::size_t place = 0; place < cells.size(); ++place) {
    out.buffer() += place > 0 ? "," : "";
    cli::append_csv(out.buffer(), cells[place]);
  }
  out.write(kLineEnd);
}

class CsvWriter {
 public:
  CsvWriter(ExportedRun& run, Folder& folder) : run_(run), folder_(folder) {}

  Result<> write() {
    Result<> done = describe_nodes();
    each_table([&](const auto& table) {
      using Row = typename std::remove_cvref_t<decltype(table)>::Of;
      if (done) {
        done = put_table<Row>(table.name);
      }
    });
    return done ? describe_columns() : done;
  }

 private:
  template <class Row>
  Result<> put_table(const char* name) {
    cli::Output* out = nullptr;
    Result<> opened;
    for (std::size_t node = 0; node < run_.nodes() && opened; ++node) {
      const std::unordered_map<std::int64_t, record::Series> series = series_of<Row>(node);
      run_.each<Row>(node, [&](const Row& row) {
        if (out == nullptr && opened) {
          opened = begin<Row>(name, out);
        }
        if (out != nullptr) {
          put_row(*out, row, node, series);
        }
      });
    }
    return run_.is_stopped()
               ? fail(ErrorKind::Interrupted, "", folder_.name(), "stopped", "nothing was written")
               : opened;
  }

  template <class Row>
  Result<> begin(const char* name, cli::Output*& out) {
    TRY(cli::Output * file, folder_.open(name));
    out = file;
    put_head(*out, name, all_columns_of<Row>());
    return {};
  }

  template <class Row>
  void put_row(cli::Output& out, const Row& row, std::size_t node,
               const std::unordered_map<std::int64_t, record::Series>& series) {
    if (out.failed()) {
      return;
    }
    Cells<CsvForm> cells(out.buffer(), run_.clock(), node);
    cells.cell(std::string_view(run_.data().nodes[node].name));
    cells.row(row);
    if constexpr (kHasSeries<Row>) {
      const auto found = series.find(row.series);
      static const record::Series none;
      const record::Series& own = found == series.end() ? none : found->second;
      for (const std::string* text : {&own.name, &own.subject, &own.unit}) {
        cells.cell(std::string_view(*text));
      }
    }
    out.write(kLineEnd);
  }

  template <class Row>
  std::unordered_map<std::int64_t, record::Series> series_of(std::size_t node) {
    std::unordered_map<std::int64_t, record::Series> all;
    if constexpr (kHasSeries<Row>) {
      run_.each<record::Series>(node, [&](const auto& series) { all.emplace(series.id, series); });
    }
    return all;
  }

  Result<> describe_nodes() {
    TRY(cli::Output * out, folder_.open("nodes"));
    put_head(*out, "nodes",
             {{"node", "name of the node"},
              {"host", "the host's name"},
              {"command", "the command line"},
              {"exit_status", "of the watched command"},
              {"is_complete", "1: the watching ended cleanly"},
              {"start_s", "the job's start, on the run's common clock"},
              {"end_s", "the job's end, on the run's common clock"},
              {"zero_wall_ns", "where the common clock is 0, since 1970, UTC"},
              {"clock_source", "what its clock is compared to the common one by"},
              {"clock_offset_ns", "its clock less the common one where the run began"},
              {"clock_drift_ppm", "how much faster its clock runs"},
              {"clock_error_ns", "the offset is wrong by no more"}});
    for (std::size_t node = 0; node < run_.nodes(); ++node) {
      put_node(*out, node);
    }
    return {};
  }

  void put_node(cli::Output& out, std::size_t node) {
    const NodeData& data = run_.data().nodes[node];
    const NodeClock& clock = run_.clock().node(node);
    Cells<CsvForm> cells(out.buffer(), run_.clock(), node);
    cells.cell(std::string_view(data.name));
    cells.cell(std::string_view(data.host));
    cells.cell(std::string_view(data.command));
    cells.cell(data.exit_status ? record::Figure(*data.exit_status) : record::Figure());
    cells.cell(std::int64_t{data.is_complete});
    cells.seconds(data.span.start_ns);
    cells.seconds(data.span.end_ns);
    cells.cell(run_.clock().start_wall_ns());
    cells.cell(std::string_view(name_of(clock.source)));
    cells.cell(clock.offset_ns);
    cells.cell(clock.drift_ppm);
    cells.cell(clock.error_ns.value_or(record::kUnknownReal));
    out.write(kLineEnd);
  }

  Result<> describe_columns() {
    TRY(cli::Output * out, folder_.open("columns"));
    put_line(*out, {"file", "column", "unit", "meaning"});
    for (const auto& [file, column] : columns_) {
      put_line(*out, {file, column.name, std::string(unit_of(column.name)), column.text});
    }
    return {};
  }

  void put_head(cli::Output& out, const std::string& table, const std::vector<Column>& columns) {
    std::vector<std::string> names;
    for (const Column& column : columns) {
      names.push_back(column.name);
      columns_.push_back({table + ".csv", column});
    }
    put_line(out, names);
  }

  ExportedRun& run_;
  Folder& folder_;
  std::vector<std::pair<std::string, Column>> columns_;  // by file
};

}  // namespace

Result<std::vector<WrittenFile>> write_csv(ExportedRun& run, const fs::path& path) {
  Folder folder(path);
  TRY(folder.make());
  TRY(CsvWriter(run, folder).write());
  return folder.keep();
}

}  // namespace chokepoint::analysis
