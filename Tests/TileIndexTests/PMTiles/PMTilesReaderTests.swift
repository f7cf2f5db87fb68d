import Foundation
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct PMTilesReaderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func reader(_ archive: SmallArchive) throws -> PMTilesReader {
    try PMTilesReader(path: folder.write("a.pmtiles", bytes: archive.bytes))
  }

  /// tilemaker writes such a header up to 3.0, and other readers do not look at what is not there.
  @Test(arguments: [0, 300, UInt64.max - 5]) func archivesWithoutLeavesMayPutThemAnywhere(offset: UInt64) throws {
    var archive = SmallArchive()
    for id in 0..<5 { archive.tiles[UInt64(id)] = [UInt8](repeating: UInt8(id), count: 40) }
    func path(_ archive: SmallArchive) throws -> String {
      var bytes = archive.bytes
      for (place, number) in [(40, offset), (48, UInt64.max - 16383)] {
        for i in 0..<8 { bytes[place + i] = UInt8(truncatingIfNeeded: number >> UInt64(8 * i)) }
      }
      return try folder.write("a.pmtiles", bytes: bytes)
    }
    let reader = try PMTilesReader(path: path(archive))
    for id in 0..<5 { #expect(try reader.tile(TileID(hilbertID: UInt64(id))) == archive.tiles[UInt64(id)]) }
    let findings = try BundleVerifier(path: reader.path, decode: BundleVerifierTests.decode).verify().outcomes
      .flatMap(\.findings)
    #expect(findings.contains { $0.message.contains("leaf directories beyond any file") })
    // Where there are some, they are not found.
    archive.leafEntries = 2
    let damaged = try PMTilesReader(path: path(archive))
    #expect(throws: BundleError.self) { try damaged.tile(TileID(hilbertID: 3)) }
  }

  /// Tiles, zooms and rectangles match the written ones for random directory structures.
  @Test(arguments: 0..<40 as Range<UInt64>) func randomArchivesReadBack(seed: UInt64) throws {
    var random = SeededGenerator(seed: 1000 + seed)
    let archive = SmallArchive.random(using: &random)
    let reader = try reader(archive)
    let tiles = try archive.tiles.map { (try TileID(hilbertID: $0.key), $0.value) }
    for (tile, bytes) in tiles {
      #expect(try reader.tile(tile) == bytes, "seed \(seed), \(tile)")
      // What was read a moment ago is in memory, where the system can tell.
      let read = try reader.withResidentTile(tile) { Array($0) }
      #expect(read == .wouldWait || read == .found(bytes), "seed \(seed), \(tile)")
    }
    var missing = 0
    for id in 0..<UInt64(6000) where archive.tiles[id] == nil {
      missing += try reader.tile(TileID(hilbertID: id)) == nil ? 0 : 1
    }
    #expect(missing == 0, "seed \(seed): tiles that were not written")
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

  /// A run of 2^32 - 1 equal tiles, which must not be enumerated.
  @Test func longestRunsAreRead() throws {
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

  @Test func tilesOutsideTheGridAreNil() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1], 1: [2], 4: [3]]
    let reader = try reader(archive)
    #expect(try reader.tile(TileID(unchecked: 0, 1, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: -1, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 31, 0, 0)) == nil)
    #expect(try reader.tile(TileID(unchecked: 1, 1, 0)) == [3])
  }

  /// Reading a tile inside the closure of another must not change the outer tile.
  @Test func readsMayBeNested() throws {
    var archive = SmallArchive()
    archive.tiles = [0: blob(1), 1: blob(2)]
    let reader = try reader(archive)
    let both = try reader.withTile(TileID(unchecked: 0, 0, 0)) { outer in
      let inner = try reader.tile(TileID(unchecked: 1, 0, 0))
      return (Array(outer), inner)
    }
    #expect(both?.0 == blob(1) && both?.1 == blob(2))
  }

  @Test func metadataAreMappedToMBTiles() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1]]
    archive.tileType = 1
    archive.tileCompression = 2
    archive.metadata = Array(
      #"""
      {"name": "Gr\u00fcn \"1\"", "attribution": "© <a href=\"x\">X</a>", "format": "png", "minzoom": "9",
       "version": 2.10, "type": "overlay", "vector_layers": [ {"id": "water", "fields": {"a": "Number"}} ],
       "tilestats": {"layerCount": 1}, "bounds": "1,2,3,4", "generator": "a test", "other": {"b": [true, null]},
       "nothing": null}
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

  /// A header with zero bounds states none; those of the JSON metadata are used.
  @Test func unknownBoundsAreNil() throws {
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

  /// Vector tiles are returned as stored; compressed images are decompressed.
  @Test func compressedTilesAreReadByType() throws {
    var archive = SmallArchive()
    archive.tiles = [0: SmallArchive.gzip(blob(7))]
    archive.tileCompression = 2
    archive.tileType = 1
    #expect(try reader(archive).tile(TileID(unchecked: 0, 0, 0)) == SmallArchive.gzip(blob(7)))
    archive.tileType = 2
    #expect(try reader(archive).tile(TileID(unchecked: 0, 0, 0)) == blob(7))
  }
}

@Suite(.ownThread) struct HilbertHullTests {
  /// Compared with the tiles of the section, one by one.
  @Test(arguments: 0...6) func hullsMatchTheTiles(zoom: Int) throws {
    var random = SeededGenerator(seed: 40 + UInt64(zoom))
    let first = TileID.firstHilbertID(zoom: zoom)
    let end = TileID.firstHilbertID(zoom: zoom + 1)
    for _ in 0..<200 {
      let lower = UInt64.random(in: first..<end, using: &random)
      let upper = UInt64.random(in: (lower + 1)...end, using: &random)
      let tiles = try (lower..<upper).map { try TileID(hilbertID: $0) }
      let expected = TileRange(
        zoom: zoom, columns: tiles.map(\.column).min()!...tiles.map(\.column).max()!,
        rows: tiles.map(\.row).min()!...tiles.map(\.row).max()!)
      var hull = HilbertHull(zoom: zoom)
      #expect(!hull.contains(lower..<upper))
      hull.insert(lower..<upper)
      #expect(hull.range == expected, "\(lower)..<\(upper)")
      #expect(hull.contains(lower..<upper))
      let other = UInt64.random(in: first..<end, using: &random)
      #expect(try hull.contains(other..<(other + 1)) == expected.contains(TileID(hilbertID: other)))
    }
  }

  @Test func emptySectionsAreIgnored() {
    var hull = HilbertHull(zoom: 2)
    hull.insert(7..<7)
    #expect(hull.range == nil)
    #expect(hull.contains(7..<7))
  }
}

extension SmallArchive {
  /// An archive of random tiles, some equal, some in runs.
  static func random(using random: inout some RandomNumberGenerator, zoomMax: Int = 6) -> SmallArchive {
    var archive = SmallArchive()
    for _ in 0..<Int.random(in: 1...120, using: &random) {
      let zoom = Int.random(in: 0...zoomMax, using: &random)
      let side = 1 << zoom
      let tile = TileID(
        unchecked: zoom, Int.random(in: 0..<side, using: &random), Int.random(in: 0..<side, using: &random))
      let bytes = blob(UInt8.random(in: 0...20, using: &random), count: Int.random(in: 0...9, using: &random))
      let first = tile.hilbertID
      for id in first..<(first + UInt64.random(in: 1...12, using: &random)) { archive.tiles[id] = bytes }
    }
    archive.leafEntries = Bool.random(using: &random) ? Int.random(in: 1...9, using: &random) : nil
    archive.leafLevels = Int.random(in: 1...3, using: &random)
    archive.internalCompression = UInt8.random(in: 1...2, using: &random)
    return archive
  }
}
