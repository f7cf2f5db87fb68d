#!/usr/bin/env python3
"""Compares public interfaces: api-diff.py OLD-GRAPHS NEW-GRAPHS CHANGELOG.md MODULE...

Prints what was added, and what was removed or changed, which breaks programs that use it. Ends with 1 if the section
Unreleased of the changelog does not name the type or function of a breaking change."""
import json
import pathlib
import re
import sys


def symbols(folder, module):
    """The declarations of a module by name."""
    found = {}
    graphs = sorted(folder.glob(f"{module}.symbols.json")) + sorted(folder.glob(f"{module}@*.symbols.json"))
    for path in graphs:
        for symbol in json.loads(path.read_text())["symbols"]:
            if "::SYNTHESIZED::" in symbol["identifier"]["precise"] or "location" not in symbol:
                continue
            text = "".join(part["spelling"] for part in symbol.get("declarationFragments", []))
            found.setdefault(".".join(symbol["pathComponents"]), set()).add(" ".join(text.split()))
    return found


old, new, changelog = map(pathlib.Path, sys.argv[1:4])
unreleased = re.split(r"(?m)^## ", changelog.read_text())[1]
unnamed = []
for module in sys.argv[4:]:
    before, after = symbols(old, module), symbols(new, module)
    if not after:
        sys.exit(f"{new} has no symbol graph of {module}")
    lines = []
    for name in sorted(before.keys() | after.keys()):
        gone, come = before.get(name, set()) - after.get(name, set()), after.get(name, set()) - before.get(name, set())
        if gone:
            lines += [f"- {text}" for text in sorted(gone)] + [f"+ {text}" for text in sorted(come)]
            owner, _, member = name.rpartition(".")
            # The members of a type that is gone are gone with it.
            if owner in before and owner not in after:
                continue
            word = re.split(r"[(:]", member)[0]
            if word == "init":
                word = owner.split(".")[-1]
            if not re.search(rf"\b{re.escape(word)}\b", unreleased):
                unnamed.append(f"{module}: {name}")
    added = len(after.keys() - before.keys())
    print(f"{module}: {added} added, {sum(line[0] == '-' for line in lines)} removed or changed")
    for line in lines:
        print(f"  {line}")
for name in unnamed:
    print(f"CHANGELOG.md does not name a breaking change: {name}", file=sys.stderr)
sys.exit(1 if unnamed else 0)
