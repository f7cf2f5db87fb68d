#!/usr/bin/env python3
"""Writes manual pages (man(7)) from a command's own definitions: man-pages.py OUT COMMAND...

Each COMMAND is a built binary, or one with the name of a command that its help does not list as a subcommand; its --experimental-dump-help describes options, arguments and subcommands as JSON. One
page is written for the command and one for each subcommand: tilecut.1, tilecut-cut.1.
"""
import json
import os
import subprocess
import sys


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    lines = []
    for line in text.split("\n"):
        lines.append("\\&" + line if line[:1] in (".", "'") else line)
    return "\n".join(lines)


def spelling(name):
    return ("-" if name["kind"] != "long" else "--") + name["name"]


def term(argument):
    """The option or argument as it is typed."""
    value = argument.get("valueName", "value")
    if argument["kind"] == "positional":
        return "\\fI" + escape(value) + "\\fR" + (" ..." if argument["isRepeating"] else "")
    names = ", ".join("\\fB" + escape(spelling(name)) + "\\fR" for name in argument["names"])
    return names if argument["kind"] == "flag" else names + " \\fI" + escape(value) + "\\fR"


def section(arguments, title):
    if not arguments:
        return []
    lines = [".SH " + title]
    for argument in arguments:
        lines += [".TP", term(argument)]
        text = " ".join(filter(None, [argument.get("abstract"), argument.get("discussion")]))
        default = argument.get("defaultValue")
        if default and "default:" not in text:
            text += f" (default: {default})"
        lines.append(escape(text) if text else "\\&")
    return lines


def synopsis(name, arguments, subcommands):
    parts = ["\\fB" + escape(name) + "\\fR"]
    if subcommands:
        parts.append("\\fIsubcommand\\fR ...")
    if any(argument["kind"] != "positional" for argument in arguments):
        parts.append("[\\fIoptions\\fR]")
    for argument in arguments:
        if argument["kind"] == "positional":
            parts.append("[" + term(argument) + "]" if argument["isOptional"] else term(argument))
        elif argument["kind"] == "option" and not argument["isOptional"]:
            parts.append(term(argument).split(", ")[-1])
    return " ".join(parts)


def page(command, parents, version):
    name = " ".join(parents + [command["commandName"]])
    title = name.replace(" ", "-")
    arguments = [argument for argument in command.get("arguments", []) if argument["shouldDisplay"]]
    subcommands = [c for c in command.get("subcommands", []) if c.get("shouldDisplay", True) and c["commandName"] != "help"]
    abstract = command.get("abstract", "")
    lines = [
        f'.TH "{title.upper()}" 1 "" "map toolkit {version}" "Map toolkit"',
        ".SH NAME", escape(title) + " \\- " + escape(abstract.rstrip(".")),
        ".SH SYNOPSIS", synopsis(name, arguments, subcommands),
    ]
    discussion = command.get("discussion")
    if discussion:
        lines.append(".SH DESCRIPTION")
        for paragraph in discussion.split("\n\n"):
            lines += [".PP", escape(paragraph)]
    lines += section([a for a in arguments if a["kind"] == "positional"], "ARGUMENTS")
    options = [a for a in arguments if a["kind"] != "positional"]
    lines += section([a for a in options if not a.get("sectionTitle")], "OPTIONS")
    for group in dict.fromkeys(a["sectionTitle"] for a in options if a.get("sectionTitle")):
        lines += section([a for a in options if a.get("sectionTitle") == group], group.upper())
    related = []
    if subcommands:
        lines.append(".SH SUBCOMMANDS")
        for subcommand in subcommands:
            related.append(f"{title}-{subcommand['commandName']}")
            lines += [".TP", "\\fB" + escape(related[-1]) + "\\fR(1)", escape(subcommand.get("abstract", ""))]
    if parents:
        related.append("-".join(parents))
    if related:
        lines += [".SH SEE ALSO", ",\n".join("\\fB" + escape(name) + "\\fR(1)" for name in related)]
    yield title, "\n".join(lines) + "\n"
    for subcommand in subcommands:
        yield from page(subcommand, parents + [command["commandName"]], version)


def main():
    out, commands = sys.argv[1], sys.argv[2:]
    if not commands:
        sys.exit(__doc__)
    os.makedirs(out, exist_ok=True)
    for command in commands:
        words = [command] if os.path.exists(command) else command.rsplit(" ", 1)
        dump = subprocess.run(words + ["--experimental-dump-help"], stdout=subprocess.PIPE, check=True).stdout
        version = subprocess.run([words[0], "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
        for title, text in page(json.loads(dump)["command"], [], version):
            with open(os.path.join(out, title + ".1"), "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
