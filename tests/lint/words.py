"""Words that readers whose first language is not English stumbled on, in the pages for users.

Left out is what the program prints: code, and the pages that scripts/reference writes.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/README.md", "docs/guide/*.md",
         "docs/reference/*.md")
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
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
WRITTEN_BY_A_SCRIPT = "<!-- Made by scripts/reference"


def findings(page, text):
    without_code = CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    for number, words in enumerate(without_code.splitlines(), 1):
        for pattern, instead in INSTEAD.items():
            for found in re.finditer(rf"\b(?:{pattern})\b", words, re.IGNORECASE):
                yield f"{page}:{number}: '{found[0]}': write {instead}"


def main():
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))
             if WRITTEN_BY_A_SCRIPT not in path.read_text()]
    assert len(pages) > len(PAGES), "pages are missing"
    assert len(list(findings("", "```\ntold\n```\nit flows both ways, `told`\n"))) == 1
    found = [line for path in pages
             for line in findings(path.relative_to(ROOT), path.read_text())]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
