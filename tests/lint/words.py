"""Words that readers whose first language is not English stumbled on, in the documentation.

The pages of docs/reference that scripts/reference writes are read, too: what is found there stands
in a help text or a table of the sources. Left out is fields.md, a few words for each field.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/README.md", "docs/guide/*.md",
         "docs/internals/*.md", "docs/reference/*.md")
INSTEAD = {
    r"both ways|each way|one way|the way (?:back|there)|on (?:the|its) way|fastest way":
        "direction, path",
    r"tells?|told|telling": "shows, reports, says",
    r"nobody knows|anybody'?s guess|who knows": "is not known",
    r"speaks? (?:for|against)": "supports, contradicts",
    r"(?:is|are|was|were) held against": "is compared with",
    r"two looks|each look|looks? once|a look at": "reading",
    r"for want of": "because … is missing",
    r"put to the test": "test",
    r"without a word": "silently",
    r"to blame|accus(?:es?|ed)": "the fault is in",
    r"that which": "the thing's name",
    r"however fast|whatever it takes": "a figure, or: also if …",
}
NAME = re.compile(r"`[^`\s]+`|`the fastest way`|--[\w-]+|\S*/\S*")  # an option, a value, a file


def findings(page, text):
    for number, line in enumerate(text.splitlines(), 1):
        words = NAME.sub("", line)
        for pattern, instead in INSTEAD.items():
            for found in re.finditer(rf"\b(?:{pattern})\b", words, re.IGNORECASE):
                yield f"{page}:{number}: '{found[0]}': write {instead}"


def main():
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))
             if path.name != "fields.md"]
    assert len(pages) > len(PAGES), "pages are missing"
    assert len(list(findings("", "it flows both ways, `told`\n"))) == 1
    found = [line for path in pages
             for line in findings(path.relative_to(ROOT), path.read_text())]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
