#!/bin/sh
# Prints a regular expression for swift test --filter: the suites and tests with the trait .long, which make test leaves out.
set -eu
cd "$(dirname "$0")/.."
find Tests -name '*.swift' | LC_ALL=C sort | xargs awk '
  FNR == 1 {
    module = FILENAME
    sub(/^Tests\//, "", module)
    sub(/\/.*/, "", module)
    suite = ""
    attribute = ""
  }
  /^ *@(Suite|Test)/ { attribute = " " }
  attribute != "" { attribute = attribute " " $0 }
  /^(@Suite.* )?(final )?(struct|class|extension) [A-Za-z]/ || (attribute != "" && /(struct|class) [A-Z]/) {
    name = $0
    sub(/^.*(struct|class|extension) /, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
    if ($0 ~ /^  /) name = suite "/" name
    else suite = name
    if (attribute ~ /[(, ]\.long[,) ]/) found(module "\\." name "/")
    attribute = ""
  }
  attribute != "" && /func [a-z]/ {
    name = $0
    sub(/^.*func /, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
    if (attribute ~ /[(, ]\.long[,) ]/) found(module "\\." suite "/" name "\\(")
    attribute = ""
  }
  function found(pattern) { all = all (all == "" ? "" : "|") "^" pattern }
  END { print all }
'
