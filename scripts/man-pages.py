#!/usr/bin/env python3
"""Writes manual pages (man(7)) from a command's own definitions: man-pages.py OUT COMMAND...

Each COMMAND is a built binary, or one with the name of a command that its help does not list as a subcommand; its
--experimental-dump-help describes options, arguments and subcommands as JSON. One page is written for the command and
one for each subcommand: tilecut.1, tilecut-cut.1. The pages refer to each other. The variable SOURCE_DATE_EPOCH gives
their date, in seconds since 1970; without it they have none.
"""
import datetime
import json
import os
import re
import subprocess
import sys


EXIT_CODES = "Exit codes: "
EXAMPLES = "Examples:\n"


def escape(text):
    for character, name in [("\\", "\\e"), ("-", "\\-"), ("~", "\\(ti"), ("^", "\\(ha")]:
        text = text.replace(character, name)
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


def definitions(arguments):
    lines = []
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
    if any(argument["kind"] != "positional" for argument in arguments):
        parts.append("[\\fIoptions\\fR]")
    if subcommands:
        parts.append("\\fIsubcommand\\fR ...")
    for argument in arguments:
        if argument["kind"] == "positional":
            parts.append("[" + term(argument) + "]" if argument["isOptional"] else term(argument))
        elif argument["kind"] == "option" and not argument["isOptional"]:
            parts.append(term(argument).split(", ")[-1])
    return " ".join(parts)


def reference(title):
    return "\\fB" + escape(title) + "\\fR(1)"


def exit_status(paragraph):
    """A list of "Exit codes: 0 done; 129, 130 or 143 stopped by a signal."."""
    items = []
    for part in paragraph.removeprefix(EXIT_CODES).removesuffix(".").split("; "):
        found = re.fullmatch(r"(\d+(?:(?:, | or )\d+)*) (.*)", part, re.DOTALL)
        if found:
            items.append([found[1], found[2]])
        else:
            items[-1][1] += "; " + part
    lines = [".SH EXIT STATUS"]
    for codes, meaning in items:
        lines += [".TP", "\\fB" + codes + "\\fR", escape(meaning)]
    return lines


def examples(paragraph):
    lines = [line.strip() for line in paragraph.removeprefix(EXAMPLES).split("\n")]
    return [".SH EXAMPLES", ".EX"] + [escape(line) for line in lines] + [".EE"]


def page(command, parents, version, date, others, codes_in=None):
    """The pages of a command and its subcommands. OTHERS are pages to refer to, CODES_IN one with the exit status."""
    name = " ".join(parents + [command["commandName"]])
    title = name.replace(" ", "-")
    arguments = [argument for argument in command.get("arguments", []) if argument["shouldDisplay"]]
    listed = [c for c in command.get("subcommands", []) if c.get("shouldDisplay", True)]
    subcommands = [c for c in listed if c["commandName"] != "help"]
    abstract = command.get("abstract", "")
    lines = [
        f'.TH "{title.upper()}" 1 "{date}" "map toolkit {version}" "Map toolkit"',
        # Neither hyphens nor spaces that are not typed: the text has names of options and variables.
        ".nh", ".ad l",
        ".SH NAME", escape(title) + " \\- " + escape(abstract.rstrip(".")),
        ".SH SYNOPSIS", synopsis(name, arguments, subcommands),
    ]
    paragraphs = (command.get("discussion") or "").split("\n\n")
    description = [text for text in paragraphs if text and not text.startswith((EXIT_CODES, EXAMPLES))]
    if description:
        lines += [".SH DESCRIPTION", "\n.PP\n".join(map(escape, description))]
    positional = [a for a in arguments if a["kind"] == "positional"]
    options = [a for a in arguments if a["kind"] != "positional"]
    if positional:
        lines += [".SH ARGUMENTS"] + definitions(positional)
    if options:
        lines.append(".SH OPTIONS")
    lines += definitions([a for a in options if not a.get("sectionTitle")])
    for group in dict.fromkeys(a["sectionTitle"] for a in options if a.get("sectionTitle")):
        lines += [".SS " + group] + definitions([a for a in options if a.get("sectionTitle") == group])
    related = []
    if subcommands:
        lines.append(".SH SUBCOMMANDS")
        for subcommand in subcommands:
            related.append(f"{title}-{subcommand['commandName']}")
            lines += [".TP", reference(related[-1]), escape(subcommand.get("abstract", ""))]
    for paragraph in paragraphs:
        if paragraph.startswith(EXIT_CODES):
            lines += exit_status(paragraph)
            codes_in = title
            break
    else:
        if codes_in:
            lines += [".SH EXIT STATUS", "See " + reference(codes_in) + "."]
    for paragraph in paragraphs:
        if paragraph.startswith(EXAMPLES):
            lines += examples(paragraph)
    if parents:
        related.append("-".join(parents))
    else:
        lines += [".SH FILES", ".TP", "\\fIPREFIX/share/doc/map\\-toolkit/docs/\\fR"]
        lines.append("What texts refer to as docs/..., below the prefix of the installation, such as /usr.")
    related += others
    if related:
        lines += [".SH SEE ALSO", ",\n".join(map(reference, related))]
    yield title, "\n".join(lines) + "\n"
    for subcommand in subcommands:
        yield from page(subcommand, parents + [command["commandName"]], version, date, [], codes_in)


def main():
    out, commands = sys.argv[1], sys.argv[2:]
    if not commands:
        sys.exit(__doc__)
    os.makedirs(out, exist_ok=True)
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    date = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%d") if seconds else ""
    titles = [os.path.basename(command).replace(" ", "-") for command in commands]
    for command, own in zip(commands, titles):
        words = [command] if os.path.exists(command) else command.rsplit(" ", 1)
        dump = subprocess.run(words + ["--experimental-dump-help"], stdout=subprocess.PIPE, check=True).stdout
        version = subprocess.run([words[0], "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
        # A subcommand that is not listed refers to its command, and that to it and to the other commands.
        root = os.path.basename(words[0])
        unlisted = [title for title in titles if title.startswith(own + "-")]
        roots = [title for title, command in zip(titles, commands) if " " not in command and title != own]
        others = unlisted + roots if own == root else [root]
        for title, text in page(json.loads(dump)["command"], [], version, date, others):
            with open(os.path.join(out, title + ".1"), "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
