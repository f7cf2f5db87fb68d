#!/usr/bin/env python3
"""Writes two bundles to soak a server in: soak-bundles.py DIR

base.mbtiles     a whole pyramid of opaque tiles, zooms 0-9: 349,525 tiles, no two alike, of 0.3 to 3 kB
overlay.mbtiles  tiles with transparent parts, zooms 0-6, to be drawn over it
"""
import os
import random
import sqlite3
import struct
import sys
import zlib

SIDE = 256
# Four colours, two bits a pixel: 16 kB of raw rows, so that a tile costs little to make and has 256 x 256 pixels to decode.
ROW_BYTES = SIDE // 4


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def tile(number, generator, transparent):
    """A PNG: bands of a repeated pattern and some rows of noise, in four colours of the tile's own."""
    noise = generator.randrange(2, 40)
    rows = bytearray(generator.randbytes(noise * (1 + ROW_BYTES)))
    # Each row begins with its filter: none.
    rows[:: 1 + ROW_BYTES] = bytes(noise)
    rows += (b"\0" + generator.randbytes(8) * (ROW_BYTES // 8)) * (SIDE - noise)
    # The first colours spell the number, so that no two tiles are equal.
    colours = struct.pack(">Q", number) + b"\x40" * 4
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 2, 3, 0, 0, 0)
    alpha = chunk(b"tRNS", b"\x00\x80\xff\xff") if transparent else b""
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"PLTE", colours) + alpha
        + chunk(b"IDAT", zlib.compress(bytes(rows), 1)) + chunk(b"IEND", b"")
    )


def write(path, name, maxzoom, transparent):
    generator = random.Random(f"{name} 1")
    database = sqlite3.connect(path + ".partial")
    database.executescript(
        """
        PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
        CREATE TABLE metadata (name text, value text);
        CREATE TABLE map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id INTEGER);
        CREATE TABLE images (tile_id INTEGER PRIMARY KEY, tile_data BLOB);
        CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images ON images.tile_id = map.tile_id;
        """
    )
    metadata = {
        "name": name, "format": "png", "minzoom": 0, "maxzoom": maxzoom, "type": "overlay" if transparent else "baselayer",
        "bounds": "-180,-85.0511,180,85.0511", "center": "0,0,2",
    }
    database.executemany("INSERT INTO metadata VALUES (?, ?)", [(key, str(value)) for key, value in metadata.items()])
    number = 0
    for zoom in range(maxzoom + 1):
        for column in range(1 << zoom):
            for row in range(1 << zoom):
                number += 1
                database.execute("INSERT INTO map VALUES (?, ?, ?, ?)", (zoom, column, row, number))
                database.execute("INSERT INTO images VALUES (?, ?)", (number, tile(number, generator, transparent)))
    database.execute("CREATE UNIQUE INDEX map_tile ON map (zoom_level, tile_column, tile_row)")
    database.commit()
    database.close()
    os.rename(path + ".partial", path)
    print(f"{path}: {number} tiles, {os.path.getsize(path) / 1e6:.0f} MB")


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
write(f"{folder}/base.mbtiles", "base", 9, False)
write(f"{folder}/overlay.mbtiles", "overlay", 6, True)
