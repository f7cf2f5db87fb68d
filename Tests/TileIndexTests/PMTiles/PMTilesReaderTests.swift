import Foundation
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct PMTilesReaderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func reader(_ archive: SmallArchive) throws -> PMTilesReader {
    try PMTilesReader(path: folder.write("a.pmtiles", bytes: archive.bytes))
  }

  /// Every tile, every zoom and every rectangle as the writer had them, whatever the directories look like.
  @Test(arguments: 0..<40 as Range<UInt64>) func randomArchivesAreReadWhole(seed: UInt64) throws {
    var random = SeededGenerator(seed: 1000 + seed)
    let archive = SmallArchive.random(using: &random)
    let reader = try reader(archive)
    let tiles = try archive.tiles.map { (try TileID(hilbertID: $0.key), $0.value) }
    for (tile, bytes) in tiles { #expect(try reader.tile(tile) == bytes, "seed \(seed), \(tile)") }
    var missing = 0
    for id in 0..<UInt64(6000) where archive.tiles[id] == nil {
      missing += try reader.tile(TileID(hilbertID: id)) == nil ? 0 : 1
    }
    #expect(missing == 0, "seed \(seed): tiles that nobody wrote")
    #expect(try reader.zooms() == Set(tiles.map(\.0.zoom)).sorted(), "seed \(seed)")
    for zoom in 0...8 {
      let places = tiles.map(\.0).filter { $0.zoom == zoom }
      let expected =
        places.isEmpty
        ? nil
        : TileRange(
          zoom: zoom, columns: places.map(\.column).min()!...places.map(\.column).max()!,
          rows: places.map(\.row).min()!...places.map(\.row).max()!)
      #expect(try reader.range(zoom: zoom) == expected, "seed \(seed), zoom \(zoom)")
    }
  }

  /// A run of 2^32 - 1 equal tiles: an ocean at zoom 16 and nothing to count one by one.
  @Test func aRunAsLongAsCanBe() throws {
    let first = TileID(unchecked: 16, 0, 0).hilbertID
    let entry = SmallArchive.Entry(id: first, run: UInt64(UInt32.max), bytes: 3, offset: 0)
    let archive = SmallArchive()
    let bytes = archive.archive(root: archive.pack(SmallArchive.directory([entry])), data: [1, 2, 3])
    let reader = try PMTilesReader(path: folder.write("ocean.pmtiles", bytes: bytes))
    #expect(try reader.tile(TileID(unchecked: 16, 40000, 30000)) == [1, 2, 3])
    let last = try TileID(hilbertID: first + UInt64(UInt32.max))
    #expect(try reader.tile(last) == nil)
    #expect(try reader.zooms() == [16])
    #expect(try reader.range(zoom: 16) == TileRange(zoom: 16, columns: 0...65535, rows: 0...65535))
  }

  @Test func tilesOutsideTheGridAreNone() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1], 1: [2], 4: [3]]
    let reader = try reader(archive)
    #expect(try reader.tile(TileID(unchecked: 0, 1, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: -1, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 31, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 1, 1, 0)) == [3])
  }

  /// Asking for a tile while another is in hand must not change that.
  @Test func oneTileInsideAnother() throws {
    var archive = SmallArchive()
    archive.tiles = [0: blob(1), 1: blob(2)]
    let reader = try reader(archive)
    let both = try reader.withTile(TileID(unchecked: 0, 0, 0)) { outer in
      let inner = try reader.tile(TileID(unchecked: 1, 0, 0))
      return (Array(outer), inner)
    }
    #expect(both?.0 == blob(1) && both?.1 == blob(2))
  }

  @Test func metadataBecomeThoseOfMBTiles() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1]]
    archive.tileType = 1
    archive.tileCompression = 2
    archive.metadata = Array(
      #"""
      {"name": "Gr\u00fcn \"1\"", "attribution": "© <a href=\"x\">X</a>", "format": "png", "minzoom": "9", "version": 2.10,
       "type": "overlay", "vector_layers": [ {"id": "water", "fields": {"a": "Number"}} ], "tilestats": {"layerCount": 1},
       "bounds": "1,2,3,4", "generator": "a test", "other": {"b": [true, null]}, "nothing": null}
      """#.utf8)
    let metadata = try reader(archive).metadata
    #expect(metadata.name == "Grün \"1\"")
    #expect(metadata.attribution == #"© <a href="x">X</a>"#)
    #expect(metadata.format == .pbf)
    #expect(metadata.type == .overlay)
    #expect(metadata.version == "2.10")
    #expect(metadata.minZoom == 0 && metadata.maxZoom == 3)
    #expect(metadata["bounds"] == "-180,-85.0511287,180,85.0511287")
    #expect(metadata["center"] == "12.3456789,-0.0000005,1")
    #expect(
      metadata.json == #"{"vector_layers":[{"id":"water","fields":{"a":"Number"}}],"tilestats":{"layerCount":1}}"#)
    #expect(metadata["generator"] == "a test")
    #expect(metadata["other"] == #"{"b":[true,null]}"#)
    #expect(metadata["nothing"] == nil)
    #expect(metadata.entries.count == Set(metadata.entries.map(\.name)).count)
  }

  /// A header that does not know the place says nothing, and then the document may.
  @Test func unknownBoundsAreNotZero() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1]]
    archive.bounds = [0, 0, 0, 0]
    archive.center = (0, 0, 0)
    #expect(try reader(archive).metadata.bounds == nil)
    #expect(try reader(archive).metadata.center == nil)
    archive.metadata = Array(#"{"bounds": [1, 2.50, 3, 4]}"#.utf8)
    #expect(try reader(archive).metadata["bounds"] == "1,2.50,3,4")
    archive.metadata = []
    #expect(try reader(archive).metadata.entries.map(\.name) == ["format", "minzoom", "maxzoom"])
  }

  /// Vector tiles are handed out as they lie there; packed images would be of no use.
  @Test func packedTiles() throws {
    var archive = SmallArchive()
    archive.tiles = [0: SmallArchive.gzip(blob(7))]
    archive.tileCompression = 2
    archive.tileType = 1
    #expect(try reader(archive).tile(TileID(unchecked: 0, 0, 0)) == SmallArchive.gzip(blob(7)))
    archive.tileType = 2
    #expect(try reader(archive).tile(TileID(unchecked: 0, 0, 0)) == blob(7))
  }
}
