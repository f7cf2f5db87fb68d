#!/usr/bin/env python3
"""Measures `tilecut convert` beside `cp` of the same bytes: scripts/bench-convert.py [TILES] [FOLDER]

Makes an MBTiles bundle of so many tiles (1,000,000; five in six different, of BYTES, 1000-9000, that cannot be packed), converts it to every container but
a folder and from there back, and copies each input with `cp`. Both count until the file is on the disk (fsync). Prints seconds, MB/s of the input, the share of
cp's speed, and the processor time and peak memory of tilecut; each is the best of RUNS (3). TILECUT names the binary.
"""
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
tilecut = os.environ.get("TILECUT", os.path.join(root, ".build/release/tilecut"))
runs = int(os.environ.get("RUNS", "3"))
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


with tempfile.TemporaryDirectory(prefix="bench-convert-", dir=parent) as folder:
    first = os.path.join(folder, "a.mbtiles")
    make(first)
    print(f"{count} tiles, {os.path.getsize(first) / 1e6:.0f} MB, best of {runs}")
    print("from     to          s    MB/s  of cp   processor s   peak MB")
    for source, target in [("mbtiles", "mbtiles"), ("mbtiles", "pmtiles"), ("mbtiles", "gpkg"), ("pmtiles", "mbtiles"), ("pmtiles", "gpkg"),
                           ("gpkg", "mbtiles"), ("gpkg", "pmtiles")]:
        path = os.path.join(folder, f"a.{source}")
        if not os.path.exists(path):
            subprocess.run([tilecut, "convert", first, path], check=True, stdout=subprocess.DEVNULL)
        output, copy = os.path.join(folder, f"out.{target}"), os.path.join(folder, "copy")
        size = os.path.getsize(path) / 1e6
        best, copying = (1e9, 0, 0), 1e9
        for _ in range(runs):
            copying = min(copying, timed(["cp", path, copy])[0])
            os.remove(copy)
            best = min(best, timed([tilecut, "convert", path, output]))
            os.remove(output)
        print(f"{source:8} {target:8} {best[0]:5.1f} {size / best[0]:7.0f} {copying / best[0]:6.2f} {best[1]:13.1f} {best[2]:9.0f}", flush=True)
