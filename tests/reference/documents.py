"""usage: documents.py CHOKEPOINT FOLDER

Documents that the program prints, held against the JSON Schemas of docs/reference.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: needs python3-jsonschema")
    sys.exit(77)

JOB = "for i in 1 2 3 4 5 6 7 8; do echo step $i; sleep 0.05; done"


def printed(*words):
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    schema = json.loads((folder / "diagnosis.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    with tempfile.TemporaryDirectory() as place:
        for job in (JOB, "true"):
            run = f"{place}/{len(job)}"
            subprocess.run([program, "run", "--quiet", "--out", run, "--", "sh", "-c", job],
                           check=True, stdout=subprocess.DEVNULL)
            document = printed(program, "diagnose", run, "--json")
            jsonschema.validate(document, schema)
    document["nodes"] = "a"
    try:
        jsonschema.validate(document, schema)
    except jsonschema.ValidationError:
        print("documents are what their schemas say")
        return 0
    print("the schema takes anything")
    return 1


if __name__ == "__main__":
    sys.exit(main())
