"""Renders the templates of a Helm chart, as far as packaging/helm writes them. Helm itself is not in
Debian. What is understood, with text/template's rules:

    {{ … }}, {{- … -}}, {{/* … */}}    actions, with whitespace trimmed on the side of a '-'
    .Values.a.b  .Release.Name  .      values; one that is not there is an error, unlike Helm's
    "text"  `text`  7                  constants
    if / else / end, with / end        no 'else if', no 'range', no variables
    define "name", include "name" .
    a | f x                            pipelines of: include, toYaml, nindent, quote, default, not, fail

Anything else is a SyntaxError here, so that a template cannot leave the subset unseen.
"""
import json
import re

import yaml

FILES = ("*.yaml", "*.tpl", "*.txt")
_TOKEN = re.compile(r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|`[^`]*`)|(?P<bar>\|)|(?P<word>[^\s|"`()]+))')


def _cut(text):
    """Pieces of a template: (is an action, its text), whitespace trimmed."""
    pieces, at = [], 0
    while True:
        begin = text.find("{{", at)
        if begin < 0:
            pieces.append((False, text[at:]))
            return pieces
        end = _end_of_action(text, begin + 2)
        before, action = text[at:begin], text[begin + 2:end]
        if action.startswith("-"):
            before, action = before.rstrip(), action[1:]
        at = end + 2
        if action.endswith("-"):
            action = action[:-1]
            at += len(text[at:]) - len(text[at:].lstrip())
        pieces += [(False, before), (True, action.strip())]


def _end_of_action(text, at):
    while not text.startswith("}}", at):
        if at >= len(text):
            raise SyntaxError("an action has no end")
        if text[at] in "`\"":
            at = text.index(text[at], at + 1)
        at += 1
    return at


def _parse(pieces, templates, closing=("",)):
    """Nodes up to one of the closing words: ('text', …), ('put', …), ('if' | 'with', …)."""
    nodes = []
    while pieces:
        is_action, text = pieces.pop(0)
        if not is_action:
            nodes.append(("text", text))
            continue
        word, _, rest = text.partition(" ")
        if word in closing:
            return nodes, word
        if text.startswith("/*"):
            continue
        if word == "define":
            templates[json.loads(rest)], _ = _parse(pieces, templates, ("end",))
        elif word in ("if", "with"):
            then, ended = _parse(pieces, templates, ("else", "end"))
            otherwise = _parse(pieces, templates, ("end",))[0] if ended == "else" else []
            nodes.append((word, rest, then, otherwise))
        elif word in ("else", "end", "range", "block", "template"):
            raise SyntaxError(f"'{text}' here")
        else:
            nodes.append(("put", text))
    if "" not in closing:
        raise SyntaxError("an 'end' is missing")
    return nodes, ""


def _shown(value):
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Chart:
    """A chart's folder, with what was parsed of it."""

    def __init__(self, folder):
        self.about = yaml.safe_load((folder / "Chart.yaml").read_text())
        self.values = yaml.safe_load((folder / "values.yaml").read_text())
        self._named = {}
        self._files = {}
        for path in sorted(path for name in FILES for path in (folder / "templates").rglob(name)):
            nodes, _ = _parse(_cut(path.read_text()), self._named)
            self._files[str(path.relative_to(folder))] = nodes

    def render(self, values=None, name="chokepoint", namespace="default"):
        """The text of each file; `values` are merged into the chart's own, as by -f."""
        root = {"Values": _merged(self.values, values or {}),
                "Release": {"Name": name, "Namespace": namespace, "Service": "Helm"},
                "Chart": {"Name": self.about["name"], "Version": self.about["version"],
                          "AppVersion": self.about["appVersion"]}}
        return {file: self._render(nodes, root, root) for file, nodes in self._files.items()
                if not file.endswith(".tpl")}

    def _render(self, nodes, dot, root):
        return "".join(self._render_one(node, dot, root) for node in nodes)

    def _render_one(self, node, dot, root):
        kind, text = node[0], node[1]
        if kind == "text":
            return text
        value = self._pipeline(text, dot, root)
        if kind == "put":
            return _shown(value)
        if value:
            return self._render(node[2], value if kind == "with" else dot, root)
        return self._render(node[3], dot, root)

    def _pipeline(self, text, dot, root):
        calls, at = [[]], 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if not found:
                raise SyntaxError(text)
            if found["bar"]:
                calls.append([])
            else:
                calls[-1].append(found["text"] or found["word"])
            at = found.end()
        value = self._call(calls[0], [], dot, root)
        for call in calls[1:]:
            value = self._call(call, [value], dot, root)
        return value

    def _call(self, words, piped, dot, root):
        head, *rest = words
        if not piped and not rest and not head.isidentifier():
            return self._operand(head, dot, root)
        functions = {
            "include": lambda name, of: self._render(self._named[name], of, of),
            "toYaml": lambda of: yaml.safe_dump(of, default_flow_style=False).rstrip("\n"),
            "nindent": lambda count, of: "\n" + "\n".join(
                (" " * count + line) if line else line for line in of.split("\n")),
            "quote": lambda of: json.dumps(_shown(of), ensure_ascii=False),
            "default": lambda otherwise, of: of or otherwise,
            "not": lambda of: not of,
            "fail": _fail,
        }
        if head not in functions:
            raise SyntaxError(f"'{head}' is not in the subset")
        return functions[head](*[self._operand(word, dot, root) for word in rest], *piped)

    @staticmethod
    def _operand(word, dot, root):
        if word.startswith("`"):
            return word[1:-1]
        if word.startswith('"'):
            return json.loads(word)
        if re.fullmatch(r"-?\d+", word):
            return int(word)
        if not re.fullmatch(r"\.|(\.\w+)+", word):
            raise SyntaxError(f"'{word}' is not in the subset")
        value = dot
        for name in filter(None, word.split(".")):
            value = value[name]
        return value


def _fail(message):
    raise ValueError(message)


def _merged(values, over):
    if not isinstance(values, dict) or not isinstance(over, dict):
        return over
    return {**values, **{name: _merged(values.get(name), value) for name, value in over.items()}}
