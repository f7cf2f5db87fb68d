import Foundation
import TestSupport
import Testing

@testable import TileIndex

/// Conversions between containers lose nothing.
@Suite(.ownThread) struct BundleConvertTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @discardableResult
  func convert(_ from: String, _ to: String, scheme: TileScheme = .xyz) throws -> any BundleReader {
    try BundleConvert(scheme: scheme).write(BundleFile.open(from), to: folder.file(to), replacing: true)
    return try BundleFile.open(folder.file(to))
  }

  static let places = [
    Place(name: "Ünter \"x\"", kind: "city", longitude: 10.123456789, latitude: 50, importance: 0.75),
    Place(name: "b", longitude: -179.5, latitude: -3),
  ]

  /// MBTiles to PMTiles to a folder to a GeoPackage to MBTiles, in both directions of rows.
  @Test(arguments: [TileFormat.png, .pbf], TileScheme.allCases)
  func roundTripsKeepTilesMetadataAndPlaces(format: TileFormat, scheme: TileScheme) throws {
    let path = try folder.writeBundle(
      "a.mbtiles", format, zooms: 0...3,
      metadata: BundleMetadata(
        name: "Ä", description: "two\nlines", attribution: "© us", version: "7",
        bounds: BoundingBox(west: -10.123456789, south: -20, east: 30.1, north: 40.000000001),
        json: format == .pbf ? #"{"vector_layers":[{"id":"a","fields":{}}],"tilestats":{"layerCount":1}}"# : nil,
        extra: ["edition": "2", "number": "1e3", "list": "[1, 2]", "true": "true"]), places: Self.places)
    // With the hash of its tiles.
    let first = try convert(path, "first.mbtiles")
    var reader = first
    for name in ["b.pmtiles", "c/"] + (format == .pbf ? [] : ["d.gpkg"]) + ["e.mbtiles"] {
      reader = try convert(reader.path, name, scheme: scheme)
      #expect(try TilesHash.of(reader) == TilesHash.of(first), "\(name)")
      #expect(
        Dictionary(grouping: reader.metadata.entries, by: \.name)
          == Dictionary(grouping: first.metadata.entries, by: \.name))
      #expect(try reader.places().all() == first.places().all(), "\(name)")
      let report = try BundleVerifier(path: reader.path) { _, _ in nil }.verify()
      #expect(report.outcomes.flatMap(\.findings).filter { $0.rule != "decode" }.isEmpty, "\(name)")
    }
    #expect(reader.metadata.entries == first.metadata.entries)
  }

  /// Rows outside the grid, with fractions, without bytes.
  @Test(arguments: ["b.mbtiles", "b.pmtiles", "b/"]) func rowsThatAreNoTilesAreCounted(_ output: String) throws {
    let database = try Database(folder.file("a.mbtiles"))
    try database.run(ForeignBundle.flat())
    func write() throws -> [BundleSummary] {
      let bundle = try BundleFile.open(folder.file("a.mbtiles"))
      let target = folder.file(output)
      return [
        try BundleConvert().write(bundle, to: target, replacing: true),
        try BundleMerge().write([bundle], to: target, replacing: true),
        try BundleExtract().write(bundle, to: target, replacing: true),
      ]
    }
    #expect(try write().map(\.leftOut.rows) == [0, 0, 0])
    for row in ["20, 2, X'01'", "-1, 2, X'01'", "1.5, 2, X'01'", "4, 4, NULL", "5, 5, X''"] {
      try database.run("INSERT INTO tiles VALUES (3, \(row))")
    }
    let summaries = try write()
    #expect(summaries.map(\.leftOut.rows) == [5, 5, 5] && summaries.map(\.tiles) == [6, 6, 6])
  }

  /// Of a part those count that lie in it, and of two bundles that are compared those of both.
  @Test func rowsOfAPartAndOfAPatchAreCounted() throws {
    let database = try Database(folder.file("a.mbtiles"))
    try database.run(ForeignBundle.flat())
    try BundleConvert().write(BundleFile.open(folder.file("a.mbtiles")), to: folder.file("b.mbtiles"))
    func left() throws -> (LeftOut, LeftOut) {
      let bundle = try BundleFile.open(folder.file("a.mbtiles"))
      let part = try BundleExtract(zooms: 0...2).write(bundle, to: folder.file("o.mbtiles"), replacing: true)
      let patch = try BundlePatch.diff(
        old: folder.file("a.mbtiles"), new: folder.file("b.mbtiles"), output: folder.file("o.patch"), replacing: true)
      return (part.leftOut, patch.leftOut)
    }
    #expect(try left() == (LeftOut(), LeftOut()))
    for row in ["2, 1.5, 2, X'01'", "2, 0, 0, NULL", "2, 0, 1, X''", "9, 0, 0, NULL", "3, 20, 2, X'01'"] {
      try database.run("INSERT INTO tiles VALUES (\(row))")
    }
    let (part, patch) = try left()
    #expect(part.rows == 3 && patch.rows == 5)
  }

  @Test func placesOutsideAnExtractAreCounted() throws {
    let path = try folder.writeBundle("p.mbtiles", zooms: 0...2, places: Self.places)
    let west = TileArea(bounds: BoundingBox(west: -180, south: -80, east: -179, north: 80))
    let summary = try BundleExtract(area: west).write(BundleFile.open(path), to: folder.file("w.mbtiles"))
    let kept = try BundleFile.open(folder.file("w.mbtiles")).places().valid.count
    #expect(summary.leftOutPlaces == Self.places.count - kept && summary.leftOutPlaces > 0)
  }

  /// Beside the grid, with other names, of a second format, and of zooms that no tile has.
  @Test func filesThatAreNoTilesAreCounted() throws {
    let database = try Database(folder.file("a.mbtiles"))
    try database.run(ForeignBundle.flat())
    try BundleConvert().write(try BundleFile.open(folder.file("a.mbtiles")), to: folder.file("a/"))
    let bundle = try BundleFile.open(folder.file("a"))
    func write() throws -> [BundleSummary] {
      let target = folder.file("b.mbtiles")
      return [
        try BundleConvert().write(bundle, to: target, replacing: true),
        try BundleMerge().write([bundle], to: target, replacing: true),
        try BundleExtract().write(bundle, to: target, replacing: true),
      ]
    }
    #expect(try write().map(\.leftOut.files) == [0, 0, 0])
    for name in ["3/20/2.png", "3/1/x2.png", "3/1/02.png", "3/1/1.5.png", "40/1/1.png", "3/1/.hidden.png", "3/1/a.txt"]
    {
      try FileSystem.makeFolders(folder.file("a/\(name.split(separator: "/").dropLast().joined(separator: "/"))"))
      try folder.write("a/\(name)", "x")
    }
    let summaries = try write()
    #expect(summaries.map(\.leftOut.files) == [5, 5, 5] && Set(summaries.map(\.tiles)).count == 1)
  }

  /// Bundles of other grids, whose rows and grid's name folders and GeoPackages keep.
  @Test func otherGridsGoThroughFoldersAndGeoPackages() throws {
    let grid = try TileMatrixSet(
      identifier: "Degrees", uri: "urn:test:degrees", tileEdges: [8, 2, 0.5], tileSizes: [96])
    for (name, set) in [("crs84", TileMatrixSet.worldCRS84Quad), ("own", grid), ("degrees", .degrees)] {
      let writer = try BundleFile.create(folder.file("\(name).mbtiles"), matrixSet: set, format: .png)
      for zoom in 0...2 { try writer.put(TileID(unchecked: zoom, 1, 0), blob(UInt8(zoom))) }
      _ = try writer.finish(BundleMetadata(name: name))
      let first = try BundleFile.open(folder.file("\(name).mbtiles"))
      let tiles = try convert(first.path, "\(name)/", scheme: .tms)
      let package = try convert(tiles.path, "\(name).gpkg")
      let back = try convert(package.path, "\(name)-back.mbtiles")
      #expect(tiles.matrixSet == set && package.matrixSet == set && back.matrixSet == set)
      #expect(try TilesHash.of(package) == TilesHash.of(first))
      #expect(try TilesHash.of(back) == TilesHash.of(first))
      #expect(back.metadata == first.metadata)
      let error = #expect(throws: BundleError.self) { try convert(first.path, "\(name).pmtiles") }
      #expect(error?.code == .mismatch)
    }
  }

  /// A bundle without name and format gets what its container requires.
  @Test func requiredRowsAreAdded() throws {
    try Database(folder.file("bare.mbtiles")).run(ForeignBundle.withoutRowid)
    let reader = try convert(folder.file("bare.mbtiles"), "full.mbtiles")
    #expect(reader.metadata.name == "bare" && reader.metadata["format"] == "png")
    #expect(try TilesHash.of(reader) == TilesHash.of(MBTilesReader(path: folder.file("bare.mbtiles"))))
  }

  /// Bundles of other makers convert there and back, or are refused with a reason and leave nothing.
  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)),
    arguments: [
      ("byte.mbtiles", true), ("byte_jpeg.mbtiles", true), ("byte_jpg.pmtiles", true), ("byte_png.pmtiles", true),
      ("byte_webp.pmtiles", true), ("geography-class-png.mbtiles", true), ("geography-class-webp.mbtiles", true),
      ("globe.mbtiles", true), ("plain_1.mbtiles", true), ("small_world_jpg.pmtiles", true),
      ("test_fixture_1.pmtiles", true), ("world_cities.mbtiles", true), ("world_l1.mbtiles", true),
      ("world_l1_webp.mbtiles", true), ("corrupt.mbtiles", false), ("invalid-tile-format.mbtiles", false),
      ("invalid.mbtiles", false), ("invalid.pmtiles", false), ("invalid_v4.pmtiles", false),
      ("with spaces.mbtiles", false),
    ])
  func bundlesOfOtherMakersConvertOrAreRefused(name: String, converts: Bool) throws {
    let path = TestData.url("maps/tilesets/\(name)").path
    for target in ["x.mbtiles", "x.pmtiles", "x/", "x.gpkg"] {
      do {
        let copy = try convert(path, target)
        #expect(converts, "\(target)")
        let first = try BundleFile.open(path)
        #expect(try TilesHash.of(copy) == TilesHash.of(first), "\(target)")
        #expect(copy.metadata.name == first.metadata.name || first.metadata.name?.isEmpty ?? true)
        for name in ["attribution", "description", "json", "version"] where first.metadata[name] != nil {
          #expect(copy.metadata[name] == first.metadata[name], "\(target) \(name)")
        }
      } catch let error as BundleError {
        let isVector = error.code == .mismatch && target == "x.gpkg" && error.message.contains("vector tiles")
        #expect(isVector || (!converts && error.code == .malformed), "\(error)")
        #expect(error.remedy != nil && !folder.names.contains("x.gpkg"))
        if !converts { #expect(folder.names == []) }
      }
    }
  }

  /// Tiles are read ahead in batches: none is lost or put elsewhere, and an error of either side ends both.
  @Test func tilesAreReadAheadInTheirOrder() throws {
    struct Failure: Error, Equatable { let side: String }
    func content(_ index: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: index % 7 == 0 ? 0 : index % 40_000)
    }
    func copy(_ count: Int, readFailsAt: Int = .max, writeFailsAt: Int = .max) throws -> Int {
      var next = 0
      do {
        try TileReadAhead.forEachTile(
          hashing: count % 2 == 0,
          { body in
            for index in 0..<count {
              if index == readFailsAt { throw Failure(side: "read") }
              try content(index).withUnsafeBytes { try body(TileID(unchecked: 20, index, 0), $0) }
            }
          },
          { tile, bytes, hash in
            if next == writeFailsAt { throw Failure(side: "write") }
            #expect(hash == (count % 2 == 0 ? ContentHash.hash(bytes) : nil))
            guard tile.column == next, bytes.elementsEqual(content(next)) else { throw Failure(side: "\(tile)") }
            next += 1
          })
      } catch let error as Failure {
        #expect(error.side == (readFailsAt < writeFailsAt ? "read" : "write"))
      }
      return next
    }
    #expect(try copy(0) == 0)
    #expect(try copy(1) == 1)
    #expect(try copy(3000) == 3000)
    #expect(try copy(3000, readFailsAt: 2000) == 2000)
    #expect(try copy(3000, writeFailsAt: 5) == 5)
  }
}
