#!/usr/bin/env python3
"""Writes the tiles of an MBTiles bundle as other servers want them.

    export-tiles.py BUNDLE.mbtiles --files DIR     DIR/{z}/{x}/{y}.png, rows from the north
    export-tiles.py BUNDLE.mbtiles --metatiles DIR DIR/{z}/.../{n}.meta, as mod_tile reads them
    export-tiles.py BUNDLE.mbtiles --paths FILE    a seeded random sequence of /{z}/{x}/{y}.png, one a line

A metatile holds 8 x 8 tiles: the word META, then little-endian 32-bit numbers: 64, the column, row and zoom of its first tile, and offset and
length of each tile, column by column; then the tiles. Its path below the zoom has five numbers, each made of four bits of the column and four of
the row, the highest first.
"""
import argparse
import os
import random
import sqlite3
import struct

SIDE = 8


def tiles(database):
    for zoom, column, row, data in database.execute(
        "SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles"
    ):
        yield zoom, column, (1 << zoom) - 1 - row, bytes(data)


def write_files(database, folder):
    for zoom, column, row, data in tiles(database):
        path = f"{folder}/{zoom}/{column}"
        os.makedirs(path, exist_ok=True)
        with open(f"{path}/{row}.png", "wb") as file:
            file.write(data)


def metatile_path(folder, zoom, column, row):
    parts = [(column >> shift & 15) << 4 | (row >> shift & 15) for shift in (16, 12, 8, 4, 0)]
    return f"{folder}/{zoom}/" + "/".join(map(str, parts)) + ".meta"


def write_metatiles(database, folder):
    # Which tiles belong together is gathered first, so that no more than one metatile's tiles are in memory.
    groups = {}
    for rowid in database.execute("SELECT zoom_level, tile_column, tile_row FROM tiles"):
        zoom, column, row = rowid[0], rowid[1], (1 << rowid[0]) - 1 - rowid[2]
        groups.setdefault((zoom, column & -SIDE, row & -SIDE), []).append((column, row))
    for (zoom, first_column, first_row), members in groups.items():
        index = [(0, 0)] * (SIDE * SIDE)
        body = bytearray()
        start = 20 + 8 * SIDE * SIDE
        for column, row in members:
            (data,) = database.execute(
                "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?",
                (zoom, column, (1 << zoom) - 1 - row),
            ).fetchone()
            index[(column - first_column) * SIDE + row - first_row] = (start + len(body), len(data))
            body += data
        path = metatile_path(folder, zoom, first_column, first_row)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(struct.pack("<4s4i", b"META", SIDE * SIDE, first_column, first_row, zoom))
            for offset, size in index:
                file.write(struct.pack("<2i", offset, size))
            file.write(body)


def write_paths(database, path, count, seed):
    known = [
        f"/{zoom}/{column}/{(1 << zoom) - 1 - row}.png"
        for zoom, column, row in database.execute(
            "SELECT zoom_level, tile_column, tile_row FROM tiles ORDER BY 1, 2, 3"
        )
    ]
    # Python promises this sequence for a seed only for random() itself.
    generator = random.Random(seed)
    with open(path, "w") as file:
        for _ in range(count):
            file.write(known[int(generator.random() * len(known))] + "\n")


def main():
    arguments = argparse.ArgumentParser(description="Writes the tiles of an MBTiles bundle as other servers want them.")
    arguments.add_argument("bundle")
    arguments.add_argument("--files")
    arguments.add_argument("--metatiles")
    arguments.add_argument("--paths")
    arguments.add_argument("--count", type=int, default=50_000)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    database = sqlite3.connect(f"file:{options.bundle}?mode=ro", uri=True)
    if options.files:
        write_files(database, options.files)
    if options.metatiles:
        write_metatiles(database, options.metatiles)
    if options.paths:
        write_paths(database, options.paths, options.count, options.seed)
    count, size = database.execute("SELECT count(*), avg(length(tile_data)) FROM tiles").fetchone()
    print(f"{count} tiles of {size / 1000:.1f} kB on average")


main()
