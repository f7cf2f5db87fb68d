#!/usr/bin/env python3
"""Counts the documented public symbols of modules: docs-coverage.py FOLDER-OF-SYMBOL-GRAPHS MODULE[/FOLDER]...

Prints a line for each module, and ends with 1 if a public symbol that is written in its sources has no comment, or one
that begins with a list ("- Parameter"): quick help and DocC would then show no summary."""
import json
import pathlib
import sys

arguments = sys.argv[1:]
folder, modules = pathlib.Path(arguments[0]), arguments[1:]
missing = 0
for place in modules:
    module = place.split("/")[0]
    total, undocumented = 0, []
    graphs = sorted(folder.glob(f"{module}.symbols.json")) + sorted(folder.glob(f"{module}@*.symbols.json"))
    if not graphs:
        sys.exit(f"{folder} has no symbol graph of {module}")
    for path in graphs:
        graph = json.loads(path.read_text())
        # A member that a protocol asks for has the protocol's comment.
        implements = {r["source"] for r in graph["relationships"] if "sourceOrigin" in r}
        for symbol in graph["symbols"]:
            name = symbol["identifier"]["precise"]
            # The compiler's own: synthesised conformances and members of macros have no place in a source.
            if "::SYNTHESIZED::" in name or "location" not in symbol:
                continue
            source = symbol["location"]["uri"].split("/Sources/")[-1]
            if not source.startswith(f"{place}/"):
                continue
            total += 1
            lines = symbol.get("docComment", {}).get("lines") or [{"text": "- "}]
            if lines[0]["text"].lstrip().startswith("- ") and name not in implements:
                line = symbol["location"]["position"]["line"] + 1
                undocumented.append(f"{source}:{line}: {'.'.join(symbol['pathComponents'])}")
    share = 100 * (total - len(undocumented)) / max(total, 1)
    print(f"{place}: {total - len(undocumented)} of {total} public symbols are documented ({share:.1f} %)")
    for line in sorted(set(undocumented)):
        print(f"  {line}")
    missing += len(undocumented)
sys.exit(1 if missing else 0)
