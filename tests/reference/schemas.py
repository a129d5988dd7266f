"""Documents that chokepoint prints, held against docs/reference/schemas.

    schemas.faults(document)     what of it contradicts the schema that its `schema` names, a line each
    schemas.document_in(text)    the document in a program's output; ValueError says what is wrong

Here an object must not have fields that its schema does not name, so that no schema misses one; the
files themselves tolerate them, as readers do. Without python3-jsonschema every document passes, and
the test reference.schemas is skipped.
"""

import contextlib
import functools
import json
import pathlib
import re
import sys

DEBIANS = "/usr/lib/python3/dist-packages"  # for a Python that is not the system's

jsonschema = None
sys.path.append(DEBIANS)
with contextlib.suppress(ImportError):
    import jsonschema
sys.path.pop()

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemas"
ENDING = ".schema.json"
MAX_SHOWN = 5
OF_SCHEMAS = ("properties", "$defs")
OF_ONE_SCHEMA = ("items", "additionalProperties", "if", "then", "else")


def names():
    return sorted(file.name.removesuffix(ENDING) for file in FOLDER.glob(f"*{ENDING}"))


@functools.cache
def published(name):
    return json.loads((FOLDER / f"{name}{ENDING}").read_text())


def parts_of(schema):
    """The schemas in a schema."""
    for key in OF_SCHEMAS:
        yield from schema.get(key, {}).values()
    for key in OF_ONE_SCHEMA:
        if isinstance(schema.get(key), dict):
            yield schema[key]
    yield from schema.get("anyOf", [])


def is_object(schema):
    return "object" in schema.get("type", "")


def referred(name, reference):
    """A schema, and the file in which its own references start."""
    file, _, pointer = reference.partition("#")
    name = file.removesuffix(ENDING) or name
    found = published(name)
    for key in pointer.split("/")[1:]:
        found = found[key]
    return found, name


def strict(schema, name):
    """Without references, and with no other fields than those named."""
    if "$ref" in schema:
        target, file = referred(name, schema["$ref"])
        return strict(target, file)
    made = dict(schema)
    made.pop("$defs", None)
    if "properties" in made:
        made["properties"] = {key: strict(each, name) for key, each in made["properties"].items()}
        if is_object(made):
            made.setdefault("additionalProperties", False)
    for key in OF_ONE_SCHEMA:
        if isinstance(made.get(key), dict):
            made[key] = strict(made[key], name)
    if "anyOf" in made:
        made["anyOf"] = [strict(each, name) for each in made["anyOf"]]
    return made


@functools.cache
def validator(name):
    return jsonschema.Draft202012Validator(strict(published(name), name))


def faults(document):
    if jsonschema is None:
        return []
    schema = document.get("schema") if isinstance(document, dict) else None
    named = re.fullmatch(r"chokepoint\.([a-z.-]+)/[0-9]+", str(schema))
    if not named or named[1] not in names():
        return [f"no schema {schema}"]
    wrong = [jsonschema.exceptions.best_match([error])
             for error in validator(named[1]).iter_errors(document)]
    return [f"{schema} {error.json_path}: {error.message[:300]}" for error in wrong[:MAX_SHOWN]]


def document_in(text):
    """One that names no schema is another program's."""
    document = json.loads(text)
    if isinstance(document, dict) and "schema" in document and faults(document):
        raise ValueError("\n".join(faults(document)))
    return document
