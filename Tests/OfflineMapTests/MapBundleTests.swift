import CSQLite
import Foundation
import OfflineMap
import Support
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct MapBundleTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let zurich = Place(name: "Zürich", kind: "city", longitude: 8.54, latitude: 47.37, importance: 0.6)
  private static let zug = Place(name: "Zug", kind: "town", longitude: 8.52, latitude: 47.17, importance: 0.3)

  /// A sample bundle in a container: zooms 0 to 3 without tile 3/4/2, and two places.
  private func bundle(_ name: String = "map.mbtiles") throws -> MapBundle {
    var metadata = BundleMetadata(name: "Sample")
    metadata.attribution = "The publisher"
    let path = try folder.writeBundle(
      "map.mbtiles", zooms: 0...3, edge: 64, without: [TileID(unchecked: 3, 4, 2)], metadata: metadata,
      places: [Self.zurich, Self.zug])
    if name != "map.mbtiles" { try BundleConvert().write(BundleFile.open(path), to: folder.file(name)) }
    return try MapBundle(path: folder.file(name))
  }

  @Test(arguments: ["map.mbtiles", "map.pmtiles", "map.gpkg", "map"])
  func everyContainerGivesTheSameAnswers(_ name: String) async throws {
    let (bundle, expected) = (try bundle(name), try BundleFile.open(folder.file("map.mbtiles")))
    for tile in [TileID(unchecked: 0, 0, 0), TileID(unchecked: 3, 7, 7), TileID(unchecked: 3, 4, 2)] {
      #expect(try await bundle.tile(tile) == expected.tile(tile))
    }
    #expect(try await bundle.tile(TileID(unchecked: 9, 500, 1)) == nil)
    // Zurich's tile of zoom 3 is the one that is missing.
    let there = try await bundle.tiles(at: 8.54, 47.37)
    #expect(there == [TileID(unchecked: 0, 0, 0), TileID(unchecked: 1, 1, 0), TileID(unchecked: 2, 2, 1)])
    #expect(bundle.metadata.zooms == 0...3 && bundle.metadata.tilePixels == 64)
    #expect(bundle.metadata.name == "Sample" && bundle.metadata.attribution == "The publisher")
    let places = try await bundle.places(matching: "zu")
    #expect(places.map(\.place.name) == ["Zürich", "Zug"])
    let near = try await bundle.places(matching: "zu", near: (8.52, 47.17), limit: 1)
    #expect(near.map(\.place.name) == ["Zug"])
    // The same position, on a map that was moved around the world.
    let around = try await bundle.places(matching: "zu", near: (8.52 + 720, 47.17), limit: 1)
    #expect(around.map(\.place.name) == ["Zug"])
    #expect(try await bundle.places(matching: "  ").isEmpty)
  }

  @Test func boxGivesTheTilesThatTheBundleHas() async throws {
    let bundle = try bundle()
    let alps = BoundingBox(west: 5, south: 44, east: 16, north: 48)
    #expect(try await bundle.tiles(in: alps, zooms: 2...3) == [TileID(unchecked: 2, 2, 1)])
    // Across the antimeridian: the first and the last column.
    let pacific = BoundingBox(west: 170, south: -10, east: -170, north: 10)
    let columns = Set(try await bundle.tiles(in: pacific, zooms: 3...3).map(\.column))
    #expect(columns == [0, 7])
    #expect(try await bundle.tiles(in: .world).count == 1 + 4 + 16 + 63)
  }

  @Test func metadataOfABundleWithoutMetadataComeFromItsTiles() throws {
    let writer = try BundleWriter(path: folder.file("alps.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    try writer.put(TileID(unchecked: 4, 8, 5), try SampleTiles.image(1))
    _ = try writer.finish(BundleMetadata(name: "Alps"))
    let metadata = try MapBundle(url: URL(fileURLWithPath: folder.file("alps.mbtiles"))).metadata
    #expect(metadata.zooms == 4...4 && metadata.tilePixels == 256 && metadata.format == .png)
    let box = TileMatrixSet.webMercatorQuad.geographicBounds(of: TileID(unchecked: 4, 8, 5))
    #expect(abs(metadata.bounds.west - box.west) < 1e-6 && abs(metadata.bounds.north - box.north) < 1e-6)
    let copy = try JSONDecoder().decode(MapMetadata.self, from: JSONEncoder().encode(metadata))
    #expect(copy == metadata)
  }

  @Test func centreOfABundleWithGapsHasAZoomWithTiles() throws {
    let writer = try BundleWriter(path: folder.file("gaps.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    for tile in [TileID(unchecked: 0, 0, 0), TileID(unchecked: 10, 512, 350)] {
      try writer.put(tile, try SampleTiles.image(1))
    }
    _ = try writer.finish(BundleMetadata(name: "Gaps"))
    let connection = try SQLiteConnection(uri: folder.file("gaps.mbtiles"), flags: SQLITE_OPEN_READWRITE)
    try connection.execute("DELETE FROM metadata WHERE name = 'center'")
    let metadata = try MapBundle(path: folder.file("gaps.mbtiles")).metadata
    #expect(metadata.zooms == 0...10 && metadata.center.zoom == 0)
  }

  /// An area across the antimeridian is there, not at longitude 0; what cannot be true is as if it were not stored.
  @Test func storedBoundsAndCentreAreChecked() throws {
    let path = try bundle().path
    func metadata(bounds: String, center: String) throws -> MapMetadata {
      let connection = try SQLiteConnection(uri: path, flags: SQLITE_OPEN_READWRITE)
      try connection.execute("UPDATE metadata SET value = '\(bounds)' WHERE name = 'bounds'")
      try connection.execute("UPDATE metadata SET value = '\(center)' WHERE name = 'center'")
      return try MapBundle(path: path).metadata
    }
    let fiji = try metadata(bounds: "176,-20,-178,-15", center: "")
    #expect(fiji.bounds == BoundingBox(west: 176, south: -20, east: 182, north: -15))
    #expect(abs(fiji.center.longitude - 179) < 1e-9 && fiji.center.zoom == 1)
    let broken = try metadata(bounds: "48,500,44,600", center: "8,470,99")
    #expect(abs(broken.bounds.west + 180) < 1e-6 && abs(broken.bounds.east - 180) < 1e-6)
    #expect(abs(broken.center.longitude) < 1e-6 && abs(broken.center.latitude) < 1e-6 && broken.center.zoom == 1)
    #expect(try metadata(bounds: "5,44,16,48", center: "8,46,99").center.zoom == 3)
  }

  @Test func manyTasksReadAtTheSameTime() async throws {
    let (bundle, reader) = (try bundle(), try BundleFile.open(folder.file("map.mbtiles")))
    let tiles = Array(TileMatrixSet.webMercatorQuad.wholeRange(zoom: 3))
    let read = try await withThrowingTaskGroup(of: (TileID, [UInt8]?).self) { group in
      for count in 0..<512 { group.addTask { (tiles[count % 64], try await bundle.tile(tiles[count % 64])) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(read.count == 512)
    for (tile, bytes) in read { #expect(try bytes == reader.tile(tile)) }
  }

  @Test func openBundleKeepsItsEdition() async throws {
    let (bundle, tile) = (try bundle(), TileID(unchecked: 3, 1, 1))
    let before = try await bundle.tile(tile)
    try folder.writeBundle("map.mbtiles", zooms: 0...3, seed: 7, edge: 64)
    for _ in 0..<8 { #expect(try await bundle.tile(tile) == before) }
    #expect(try await MapBundle(path: bundle.path).tile(tile) != before)
  }

  @Test func whatCannotBeOpenedSaysWhy() throws {
    #expect(throws: BundleError.self) { try MapBundle(url: #require(URL(string: "https://example.com/a.mbtiles"))) }
    #expect(throws: BundleError.self) { try MapBundle(path: folder.file("none.mbtiles")) }
    // A bundle whose tiles were deleted.
    _ = try bundle()
    let path = folder.file("map.mbtiles")
    try SQLiteConnection(uri: path, flags: SQLITE_OPEN_READWRITE).execute("DELETE FROM map")
    let error = try #require(throws: BundleError.self) { try MapBundle(path: path) }
    #expect(error.code == .malformed && error.message == "has no tiles" && error.remedy != nil)
  }

  @Test(arguments: [
    #"{"zoom": 31, "column": 0, "row": 0}"#, #"{"zoom": -1, "column": 0, "row": 0}"#,
    #"{"zoom": 3, "column": -1, "row": 0}"#, #"{"zoom": 3, "column": 0, "row": 4294967296}"#, #"{"zoom": 3}"#,
  ]) func tilesThatCannotExistAreNotDecoded(_ json: String) {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(TileID.self, from: Data(json.utf8)) }
  }

  @Test func boxesAndTilesAreWrittenAsOthersDo() throws {
    let box = BoundingBox(west: 5, south: 44, east: 16, north: 48)
    #expect(String(decoding: try JSONEncoder().encode(box), as: UTF8.self) == "[5,44,16,48]")
    #expect(try JSONDecoder().decode(BoundingBox.self, from: Data("[5,44,16,48]".utf8)) == box)
    for text in ["[5,44,16]", "[5,44,16,48,1]"] {
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(BoundingBox.self, from: Data(text.utf8)) }
    }
    let tile = TileID(unchecked: 5, 7, 12)
    #expect(try JSONDecoder().decode(TileID.self, from: JSONEncoder().encode(tile)) == tile)
  }
}
