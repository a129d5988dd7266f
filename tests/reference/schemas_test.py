"""The files of docs/reference/schemas: one for each document that the sources name, each a schema that
says what every object and list holds, all listed in documents.md. And the check of documents
against them, with documents as real commands printed them."""

import json
import pathlib
import re
import sys
import unittest

import schemas

SKIPPED = 77
TREE = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("analysis", "base", "capture", "preflight", "probe", "rdma")
# Of two programs of chokepoint that talk to each other: no command prints them.
BETWEEN_PROGRAMS = {"names", "records"}
KEPT = (TREE / "tests/preflight/coordinator/documents", TREE / "tests/rdma/commands/documents")


def named_in_sources():
    """Documents' names with their versions."""
    for folder in FOLDERS:
        for file in (TREE / folder).rglob("*"):
            if file.suffix in (".cc", ".h"):
                yield from re.findall(r'"chokepoint\.([a-z.-]+)/(\d+)"', file.read_text())


def all_parts(schema, place=""):
    yield place, schema
    for key in schemas.OF_SCHEMAS:
        for name, part in schema.get(key, {}).items():
            yield from all_parts(part, f"{place}/{key}/{name}")
    for key in schemas.OF_ONE_SCHEMA:
        if isinstance(schema.get(key), dict):
            yield from all_parts(schema[key], f"{place}/{key}")
    for number, part in enumerate(schema.get("anyOf", [])):
        yield from all_parts(part, f"{place}/anyOf/{number}")


def kept():
    return {file.stem: json.loads(file.read_text()) for folder in KEPT
            for file in folder.glob("*.json")}


class Files(unittest.TestCase):
    def test_each_is_a_schema(self):
        for name in schemas.names():
            with self.subTest(name):
                schemas.jsonschema.Draft202012Validator.check_schema(schemas.published(name))
                schemas.jsonschema.Draft202012Validator.check_schema(
                    schemas.strict(schemas.published(name), name))

    def test_each_document_that_the_sources_name_has_one_of_its_version(self):
        named = {name: f"chokepoint.{name}/{version}" for name, version in named_in_sources()
                 if name not in BETWEEN_PROGRAMS}
        self.assertEqual({name: schemas.published(name)["properties"]["schema"]["const"]
                          for name in schemas.names()}, named)

    def test_documents_md_links_each(self):
        text = (TREE / "docs/reference/documents.md").read_text()
        for name in schemas.names():
            self.assertIn(f"](schemas/{name}.schema.json)", text)

    def test_objects_and_lists_say_what_they_hold(self):
        for name in schemas.names():
            for place, part in all_parts(schemas.published(name)):
                with self.subTest(f"{name} {place}"):
                    if schemas.is_object(part):
                        self.assertTrue("properties" in part or "additionalProperties" in part)
                        self.assertLessEqual(set(part.get("required", [])),
                                             set(part.get("properties", {})))
                    if "array" in part.get("type", ""):
                        self.assertIn("items", part)


class Documents(unittest.TestCase):
    def test_kept_ones_are_what_their_schemas_say(self):
        self.assertLessEqual({"tcp", "udp", "path", "latency", "collective", "bandwidth"}, set(kept()))
        for name, document in kept().items():
            self.assertEqual(schemas.faults(document), [], name)

    def faults_where(self, name, change):
        document = kept()[name]
        change(document)
        return schemas.faults(document)

    def test_a_field_that_no_schema_names_is_found(self):
        self.assertTrue(self.faults_where("tcp", lambda d: d.update(new=1)))
        self.assertTrue(self.faults_where("tcp", lambda d: d["intervals"][0].update(new=1)))
        self.assertTrue(self.faults_where("tcp_both", lambda d: d["send"]["cpu"].update(new=1)))

    def test_the_files_themselves_tolerate_it(self):
        document = kept()["latency"]
        document["idle_ms"]["new"] = 1
        schemas.jsonschema.Draft202012Validator(schemas.published("probe.latency")).validate(
            document)

    def test_a_field_that_is_missing_is_found(self):
        self.assertTrue(self.faults_where("tcp", lambda d: d.pop("throughput_mbps")))
        self.assertTrue(self.faults_where("tcp_both", lambda d: d.pop("receive")))
        self.assertTrue(self.faults_where("path", lambda d: d["families"].pop("ipv6")))

    def test_a_wrong_value_is_found(self):
        self.assertTrue(self.faults_where("udp", lambda d: d.update(direction="up")))
        self.assertTrue(self.faults_where("collective", lambda d: d.update(ranks="2")))
        self.assertTrue(self.faults_where("tcp", lambda d: d.update(throughput_mbps=-1)))
        self.assertTrue(self.faults_where("tcp", lambda d: d.update(congestion_control="")))

    def test_an_unknown_document_or_version_is_found(self):
        self.assertTrue(self.faults_where("tcp", lambda d: d.update(schema="chokepoint.new/1")))
        self.assertTrue(self.faults_where("tcp", lambda d: d.update(schema="chokepoint.tcp.probe/2")))
        self.assertTrue(schemas.faults({}))

    def test_only_a_document_with_a_schema_is_held_against_one(self):
        self.assertEqual(schemas.document_in('{"start": {}}'), {"start": {}})
        with self.assertRaises(ValueError):
            schemas.document_in('{"schema": "chokepoint.doctor/1"}')
        with self.assertRaises(ValueError):
            schemas.document_in("no document")


if __name__ == "__main__":
    if schemas.jsonschema is None:
        print("skipped: needs python3-jsonschema")
        sys.exit(SKIPPED)
    unittest.main()
