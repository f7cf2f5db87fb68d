import Foundation
import TestSupport
import Testing
import TileIndex

@Suite struct PMTilesReaderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func reader(_ archive: SmallArchive) throws -> PMTilesReader {
    try PMTilesReader(path: folder.write("a.pmtiles", bytes: archive.bytes))
  }

  func refusal(_ bytes: [UInt8]) throws -> BundleError? {
    let path = try folder.write("bad.pmtiles", bytes: bytes)
    return #expect(throws: BundleError.self) {
      let reader = try PMTilesReader(path: path)
      for zoom in 0...4 { _ = try reader.tile(TileID(unchecked: zoom, 0, 0)) }
    }
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

  @Test func otherPackingsAndVersionsAreNamed() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1]]
    for (code, word) in [(3, "brotli"), (4, "zstd"), (9, "unknown")] as [(UInt8, String)] {
      archive.tileCompression = code
      var error = try refusal(archive.bytes)
      #expect(error?.code == .malformed && error?.message.contains(word) == true && error?.remedy != nil)
      archive.tileCompression = 1
      var bytes = archive.bytes
      bytes[97] = code
      error = try refusal(bytes)
      #expect(error?.message.contains(word) == true && error?.message.contains("directories") == true)
    }
    for version in [0, 1, 2, 4, 255] as [UInt8] {
      var bytes = archive.bytes
      bytes[7] = version
      #expect(try refusal(bytes)?.message.contains("version \(version)") == true)
    }
    #expect(
      try refusal(Array("PM".utf8) + [2, 0] + [UInt8](repeating: 0, count: 600))?.message.contains("version 2") == true)
  }

  /// A copy that is under way, or was broken off.
  @Test func cutAnywhereItIsRefused() throws {
    var random = SeededGenerator(seed: 5)
    var archive = SmallArchive.random(using: &random)
    archive.leafEntries = 4
    let bytes = archive.bytes
    for count in Array(0..<140) + Array(stride(from: 140, to: bytes.count, by: 37)) {
      let error = try refusal(Array(bytes.prefix(count)))
      #expect(error?.code == .malformed && error?.remedy != nil, "\(count): \(error?.description ?? "")")
      if count >= 127 { #expect(error?.message.contains("cut off") == true) }
    }
  }

  @Test func hostileDirectoriesAreRefused() throws {
    let archive = SmallArchive()
    func entry(_ id: UInt64, run: UInt64 = 1, bytes: UInt64 = 1, offset: UInt64 = 0) -> SmallArchive.Entry {
      SmallArchive.Entry(id: id, run: run, bytes: bytes, offset: offset)
    }
    func refused(_ directory: [UInt8], _ word: String, leaves: [UInt8] = []) throws {
      let bytes = archive.archive(root: archive.pack(directory), leaves: leaves, data: [1, 2, 3])
      let error = try refusal(bytes)
      #expect(error?.code == .malformed && error?.message.contains(word) == true, "\(error?.description ?? "")")
    }
    try refused(SmallArchive.varint(0), "empty")
    try refused([], "ends early")
    try refused(SmallArchive.varint(1 << 40), "ends early")
    try refused(SmallArchive.varint(.max), "ends early")
    try refused([UInt8](repeating: 0xff, count: 12), "above 2^64")
    try refused(SmallArchive.directory([entry(0), entry(0)]), "not in order")
    // The second id would run over 64 bits and come out below the first.
    try refused(SmallArchive.directory([entry(9), entry(3)]), "beyond zoom")
    try refused(SmallArchive.directory([entry(1 << 62)]), "beyond zoom")
    try refused(SmallArchive.directory([entry(0, bytes: 0)]), "without bytes")
    try refused(SmallArchive.directory([entry(0, bytes: 1 << 40)]), "above 2^32")
    try refused(SmallArchive.directory([entry(0, run: 1 << 40)]), "above 2^32")
    try refused(SmallArchive.directory([entry(0, offset: 1 << 63)]), "beyond any file")
    try refused([1, 0, 1, 1, 0], "no offset")
    try refused(SmallArchive.directory([entry(0, offset: 3)]), "beyond the end")
    try refused(SmallArchive.directory([entry(0, bytes: UInt64(UInt32.max))]), "4294967295 bytes")
    try refused(SmallArchive.directory([entry(0)]) + [0], "follows")
    try refused(SmallArchive.directory([entry(0, run: 0, bytes: 5, offset: 9)]), "outside its section")
    // A leaf that names itself, and one that holds another leaf's tiles.
    var itself = archive.pack(SmallArchive.directory([entry(0, run: 0, bytes: 1, offset: 0)]))
    for _ in 0..<3 {
      itself = archive.pack(SmallArchive.directory([entry(0, run: 0, bytes: UInt64(itself.count), offset: 0)]))
    }
    try refused(
      SmallArchive.directory([entry(0, run: 0, bytes: UInt64(itself.count), offset: 0)]), "too deep", leaves: itself)
    let strange = archive.pack(SmallArchive.directory([entry(0), entry(7)]))
    try refused(
      SmallArchive.directory([
        entry(0, run: 0, bytes: UInt64(strange.count), offset: 0),
        entry(6, run: 0, bytes: UInt64(strange.count), offset: 0),
      ]), "belong into another", leaves: strange)
  }

  /// Some kilobytes that become gigabytes.
  @Test func bombsAreRefused() throws {
    let archive = SmallArchive()
    let bomb = SmallArchive.gzip([UInt8](repeating: 0, count: 40 << 20))
    #expect(bomb.count < 100_000)
    #expect(try refusal(archive.archive(root: bomb))?.message.contains("when unpacked") == true)
    let entry = SmallArchive.Entry(id: 0, run: 0, bytes: UInt64(bomb.count), offset: 0)
    let root = archive.pack(SmallArchive.directory([entry]))
    #expect(try refusal(archive.archive(root: root, leaves: bomb))?.message.contains("when unpacked") == true)
  }

  @Test func metadataThatAreNoObject() throws {
    var archive = SmallArchive()
    archive.tiles = [0: [1]]
    for text in ["[1]", "{", "{\"a\":}", String(repeating: "[", count: 100_000)] {
      archive.metadata = Array(text.utf8)
      #expect(try refusal(archive.bytes)?.message.contains("metadata") == true, "\(text.prefix(9))")
    }
  }

  @Test func missingAndOtherFilesAreNamed() throws {
    #expect(throws: BundleError.self) { try PMTilesReader(path: folder.file("none.pmtiles")) }
    let error = #expect(throws: BundleError.self) { try PMTilesReader(path: folder.path) }
    #expect(error?.message.contains("folder") == true)
    #expect(try refusal(Array("something else".utf8))?.message.contains("not a PMTiles archive") == true)
  }
}
