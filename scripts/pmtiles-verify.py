#!/usr/bin/env python3
"""Checks what go-pmtiles' `verify` checks of a PMTiles archive, which no registry of this project has: scripts/pmtiles-verify.py ARCHIVE

Header and directories are decoded by PyPI's pmtiles, the reference reader, so that nothing here shares code with what wrote the archive. Offsets and lengths lie
in the file and add up to it; the counts, zooms, center and bounds of the header are those of the entries; contents of a clustered archive are in order. Exits with
1 and the findings. PYTHONPATH names the folder of pmtiles (scripts/install-python-tools.sh).
"""
import os
import sys

from pmtiles.reader import MmapSource, Reader
from pmtiles.tile import deserialize_directory, tileid_to_zxy

HEADER, HEAD = 127, 16_384


def findings(path):
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        get = MmapSource(file)
        header = Reader(get).header()
        sections = ["root", "metadata", "leaf_directory", "tile_data"]
        lengths = {name: header[f"{name}_length"] for name in sections}
        for name in sections:
            if header[f"{name}_offset"] == 0:
                yield f"the offset of {name} is 0"
            if header[f"{name}_offset"] + lengths[name] > size:
                yield f"{name} ends behind the file"
        rest = lengths["metadata"] + lengths["leaf_directory"] + lengths["tile_data"]
        if size not in (HEADER + lengths["root"] + rest, HEAD + rest):
            yield f"the sections are {HEADER + lengths['root'] + rest} bytes and the file has {size}"

        def entries(offset, length):
            for entry in deserialize_directory(get(offset, length)):
                if entry.run_length:
                    yield entry
                else:
                    yield from entries(header["leaf_directory_offset"] + entry.offset, entry.length)

        tiles = count = end = 0
        last = -1
        ids, contents = [], set()
        for entry in entries(header["root_offset"], lengths["root"]):
            tiles += entry.run_length
            count += 1
            ids += [entry.tile_id]
            if entry.tile_id <= last:
                yield f"tile {entry.tile_id} comes after {last}"
            last = entry.tile_id + entry.run_length - 1
            if entry.offset + entry.length > lengths["tile_data"]:
                yield f"tile {entry.tile_id} ends behind the tile data"
            if entry.offset not in contents:
                contents.add(entry.offset)
                if header["clustered"] and entry.offset != end:
                    yield f"tile {entry.tile_id} is out of order in a clustered archive"
                end += entry.length
    for name, found in [("addressed_tiles_count", tiles), ("tile_entries_count", count), ("tile_contents_count", len(contents))]:
        if header[name] != found:
            yield f"{name} is {header[name]}, and there are {found}"
    zooms = tileid_to_zxy(min(ids))[0], tileid_to_zxy(last)[0]
    if (header["min_zoom"], header["max_zoom"]) != zooms:
        yield f"zooms {header['min_zoom']} to {header['max_zoom']} are stated, and there are {zooms[0]} to {zooms[1]}"
    if not header["min_zoom"] <= header["center_zoom"] <= header["max_zoom"]:
        yield f"the zoom of the center is {header['center_zoom']}"
    if header["min_lon_e7"] >= header["max_lon_e7"] or header["min_lat_e7"] >= header["max_lat_e7"]:
        yield "the bounds have no area"


found = list(findings(sys.argv[1]))
for line in found:
    print(f"{sys.argv[1]}: {line}")
sys.exit(1 if found else 0)
