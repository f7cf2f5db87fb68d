#!/usr/bin/env python3
"""Measures `tilecut convert` beside `cp` of the same bytes: scripts/bench-convert.py [TILES] [FOLDER]

Makes an MBTiles bundle of so many tiles (1,000,000; five in six different, of BYTES, 1000-9000, that cannot be packed), converts it to every container but
a folder and from there back, and copies each input with `cp`. Both count until the file is on the disk (fsync), and begin when nothing waits to be written (sync).
They run in pairs, RUNS (5) of them, and in every other pair cp comes first. Prints the median seconds of both, the median, least and largest of the pairs'
ratios, which are shares of cp's speed, and the median processor time and the peak memory of tilecut. TILECUT names the binary, and CONVERSIONS some of the
conversions, as in "pmtiles-gpkg mbtiles-gpkg".
"""
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from statistics import median

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
tilecut = os.environ.get("TILECUT", os.path.join(root, ".build/release/tilecut"))
runs = int(os.environ.get("RUNS", "5"))
smallest, largest = map(int, os.environ.get("BYTES", "1000-9000").split("-"))
count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
parent = sys.argv[2] if len(sys.argv) > 2 else None


def tiles():
    """A square of one zoom and its parents, column by column; the bytes are no pictures, but begin like PNG."""
    chance = random.Random(1)
    noise = chance.randbytes(1 << 24)
    sea = b"\x89PNG\r\n\x1a\n" + bytes(200)
    zoom = next(z for z in range(31) if 4 ** (z + 1) // 3 >= count)
    left = count
    for z in range(zoom + 1):
        for x in range(1 << z):
            for y in range(1 << z):
                if not left:
                    return
                left -= 1
                if chance.random() < 1 / 6:
                    yield z, x, y, sea
                else:
                    start = chance.randrange(len(noise) - largest)
                    yield z, x, y, sea[:8] + left.to_bytes(8, "big") + noise[start:start + chance.randrange(smallest, largest)]


def make(path):
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript("""PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;
        CREATE TABLE metadata (name text, value text); INSERT INTO metadata VALUES ('name', 'bench'), ('format', 'png');
        CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob);
        CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);""")
    database.executemany("INSERT INTO tiles VALUES (?, ?, ?, ?)", tiles())
    database.execute("COMMIT")
    database.close()


def timed(words):
    """Seconds until the file that the last word names is on the disk, processor seconds and peak memory in MB."""
    os.sync()
    start = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(words)} failed")
    with open(words[-1], "rb") as file:
        os.fsync(file.fileno())
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


conversions = os.environ.get("CONVERSIONS", "mbtiles-mbtiles mbtiles-pmtiles mbtiles-gpkg pmtiles-mbtiles pmtiles-gpkg gpkg-mbtiles gpkg-pmtiles")
with tempfile.TemporaryDirectory(prefix="bench-convert-", dir=parent) as folder:
    first = os.path.join(folder, "a.mbtiles")
    make(first)
    print(f"{count} tiles, {os.path.getsize(first) / 1e6:.0f} MB, {runs} pairs")
    print("from     to         MB      s   cp s   of cp (least-largest)   processor s   peak MB")
    for source, target in (words.split("-") for words in conversions.split()):
        path = os.path.join(folder, f"a.{source}")
        if not os.path.exists(path):
            subprocess.run([tilecut, "convert", first, path], check=True, stdout=subprocess.DEVNULL)
        output, copy = os.path.join(folder, f"out.{target}"), os.path.join(folder, "copy")
        pairs = []
        for run in range(runs):
            pair = {}
            for words in ([["cp", path, copy], [tilecut, "convert", path, output]])[::1 if run % 2 else -1]:
                pair[words[0]] = timed(words)
                os.remove(words[-1])
            pairs.append((pair["cp"], pair[tilecut]))
        ratios = [copying[0] / converting[0] for copying, converting in pairs]
        seconds = [median(pair[index][0] for pair in pairs) for index in (1, 0)]
        print(f"{source:8} {target:8} {os.path.getsize(path) / 1e6:5.0f} {seconds[0]:6.1f} {seconds[1]:6.1f}   {median(ratios):5.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
              f" {median(pair[1][1] for pair in pairs):19.1f} {max(pair[1][2] for pair in pairs):9.0f}", flush=True)
