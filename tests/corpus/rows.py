"""Tables of the corpus, as files: a line of column names, then a line each, with tabs between."""


class Refused(Exception):
    """In a line, what is wrong with what was given."""


def read(file, columns):
    """Each line as {column: text}; of a file that is not there, nothing."""
    if not file.exists():
        return []
    head, *lines = file.read_text().splitlines() or [""]
    if head.split("\t") != list(columns):
        raise Refused(f"{file}: its first line is not '{' '.join(columns)}'")
    found = [line.split("\t") for line in lines]
    for number, cells in enumerate(found, 2):
        if len(cells) != len(columns):
            raise Refused(f"{file}:{number}: {len(cells)} cells, not {len(columns)}")
    return [dict(zip(columns, cells)) for cells in found]


def write(file, columns, lines):
    text = "\n".join("\t".join(cell(line[column]) for column in columns) for line in lines)
    file.write_text("\t".join(columns) + "\n" + (text + "\n" if text else ""))


def cell(value):
    text = str(value)
    if not text or not text.isprintable():
        raise Refused(f"not for a cell of a table: {text!r}")
    return text
