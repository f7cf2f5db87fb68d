import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

/// The metadata rows that the writer derives from tiles and given metadata.
@Suite(.ownThread) struct MetadataRowsTests {
  func values(
    _ metadata: BundleMetadata, tiles: [TileID], set: TileMatrixSet = .webMercatorQuad
  ) throws -> StoredMetadata {
    var coverage = TileCoverage()
    for tile in tiles { coverage.insert(tile) }
    let rows = try MetadataRows(metadata, coverage: coverage, matrixSet: set, format: .png, path: "x")
    return StoredMetadata(rows.rows.map { StoredMetadata.Entry(name: $0.name, value: $0.value) })
  }

  @Test func metadataAreCodable() throws {
    var all = BundleMetadata(
      name: "Ä", description: "two\nlines", attribution: "© us", type: .overlay, version: "7",
      bounds: BoundingBox(west: 170.5, south: -20, east: -170.25, north: 40),
      center: BundleMetadata.Center(longitude: 179, latitude: 10.125, zoom: 3), json: #"{"vector_layers":[]}"#,
      extra: ["region": "pacific"])
    all.formats = [.png, .jpg]
    for metadata in [BundleMetadata(name: "x"), all] {
      let json = try JSONEncoder().encode(metadata)
      #expect(try JSONDecoder().decode(BundleMetadata.self, from: json) == metadata)
    }
  }

  /// What other programs have stored is shown as far as it can be true.
  @Test(arguments: [
    ("170,-20,-170,-10", nil, "170,-20,190,-10", "180,-15,5"),
    ("165,-20,-175,-10", "-178,-18,6", "165,-20,185,-10", "-178,-18,6"),
    ("170,-20,190,-10", "188,-18,99", "170,-20,190,-10", "-172,-18,7"),
    ("5,44,16,48", nil, "5,44,16,48", "10.5,46,5"), ("5,44,16,48", "1e9,46,4", "5,44,16,48", "10.5,46,5"),
    // In no order, or of no Earth: the tile's own, 11.25 degrees wide.
    ("16,44,5,48", nil, nil, nil), ("5,48,16,44", nil, nil, nil), ("5,44,5,48", nil, nil, nil),
    ("44,500,48,600", nil, nil, nil), ("-1000,44,16,48", nil, nil, nil), ("5,44,16", "8,91,4", nil, nil),
  ])
  func locationIsThatOfTheTilesUnlessTheStoredOneIsValid(
    _ bounds: String, _ center: String?, _ expectedBounds: String?, _ expectedCenter: String?
  ) throws {
    var entries = [StoredMetadata.Entry(name: "bounds", value: bounds)]
    if let center { entries.append(StoredMetadata.Entry(name: "center", value: center)) }
    let finest = TileRange(zoom: 7, columns: 64...67, rows: 40...43)
    let set = TileMatrixSet.webMercatorQuad
    let found = StoredMetadata(entries).location(zooms: Array(3...7), finest: finest, in: set)
    func numbers(_ text: String) throws -> [Double] { try text.split(separator: ",").map { try #require(Double($0)) } }
    let box = try expectedBounds.map(numbers).map {
      BoundingBox(west: $0[0], south: $0[1], east: $0[2], north: $0[3])
    }
    #expect(found.bounds == box ?? set.geographicBounds(of: finest))
    let middle = found.bounds.centre
    let place = try expectedCenter.map(numbers) ?? [middle.x, middle.y, 5]
    #expect(abs(found.center.longitude - place[0]) < 1e-9 && abs(found.center.latitude - place[1]) < 1e-9)
    #expect(found.center.zoom == Int(place[2]))
  }

  /// A map is opened where something is drawn, also if it has no tiles at the middle zoom or at the stored one.
  @Test(
    arguments: [
      (nil, [0, 10], 0), (nil, [0, 4, 10], 4), (nil, [3, 6, 8], 6), (nil, [7], 7), ("8,46,9", [0, 10], 10),
      ("8,46,4", [0, 10], 0), ("8,46,5", [0, 10], 0), ("8,46,9e18", [0, 10], 10), ("8,46,-9e18", [2, 10], 2),
    ] as [(String?, [Int], Int)])
  func centerHasAZoomWithTiles(_ center: String?, _ zooms: [Int], _ expected: Int) throws {
    let entries = center.map { [StoredMetadata.Entry(name: "center", value: $0)] } ?? []
    let last = try #require(zooms.last)
    let finest = TileRange(zoom: last, columns: 0...0, rows: 0...0)
    let found = StoredMetadata(entries).location(zooms: zooms, finest: finest, in: .webMercatorQuad)
    #expect(found.center.zoom == expected)
  }

  func tile(_ zoom: Int, _ column: Int, _ row: Int) -> TileID { TileID(unchecked: zoom, column, row) }

  @Test func boundsAreClippedToWhatEveryZoomCovers() throws {
    // Zoom 3 covers 0 to 90 east, zoom 2 also 90 to 180.
    let tiles = [tile(2, 2, 1), tile(2, 3, 1), tile(3, 4, 3), tile(3, 5, 3)]
    let wide = try values(
      BundleMetadata(name: "x", bounds: BoundingBox(west: -10, south: 10, east: 170, north: 80)), tiles: tiles)
    let north = TileMatrixSet.webMercatorQuad.geographicBounds(of: tile(3, 4, 3)).north
    #expect(wide.bounds == BoundingBox(west: 0, south: 10, east: 90, north: north))
    #expect(wide.minZoom == 2 && wide.maxZoom == 3)
    let inside = BoundingBox(west: 10.25, south: 10.5, east: 100.125, north: 20)
    #expect(
      try values(BundleMetadata(name: "x", bounds: inside), tiles: tiles).bounds
        == BoundingBox(west: 10.25, south: 10.5, east: 90, north: 20))
    // Missing, invalid and disjoint bounds become those of the tiles.
    for bounds in [
      nil, BoundingBox(west: -90, south: -20, east: -80, north: -10),
      BoundingBox(west: .nan, south: 0, east: 1, north: 1),
    ] {
      let found = try values(BundleMetadata(name: "x", bounds: bounds), tiles: tiles).bounds
      #expect(found == BoundingBox(west: 0, south: 0, east: 90, north: north))
    }
  }

  @Test func disjointZoomsHaveTheBoundsOfTheFinest() throws {
    let found = try values(BundleMetadata(name: "x"), tiles: [tile(3, 0, 3), tile(4, 15, 7)])
    #expect(found.bounds?.west == 157.5 && found.bounds?.east == 180)
  }

  @Test func centerIsTheMiddleAtAZoomThatShowsAllBounds() throws {
    let range = TileRange(zoom: 8, columns: 120...151, rows: 64...95)
    let pyramid = (0...8).flatMap { zoom -> [TileID] in
      let shift = 8 - zoom
      let columns = (120 >> shift)...(151 >> shift)
      return Array(TileRange(zoom: zoom, columns: columns, rows: (64 >> shift)...(95 >> shift)))
    }
    #expect(pyramid.contains { range.contains($0) })
    let found = try values(BundleMetadata(name: "x"), tiles: pyramid)
    // 32 x 32 tiles of zoom 8 are 4 x 4 of zoom 5 (1024 pixels, too high for 768) and 2 x 2 of zoom 4.
    #expect(found.center?.zoom == 4)
    let bounds = try #require(found.bounds)
    let center = try #require(found.center)
    #expect(bounds.contains(SIMD2(center.longitude, center.latitude)))
    let middle = (bounds.west + bounds.east) / 2
    #expect(abs(center.longitude - middle) < 1e-12)

    let given = BundleMetadata.Center(longitude: 1.5, latitude: 999, zoom: 20)
    let cut = try values(BundleMetadata(name: "x", center: given), tiles: pyramid).center
    #expect(cut == BundleMetadata.Center(longitude: 1.5, latitude: bounds.north, zoom: 8))
  }

  @Test(arguments: [
    BoundingBox(west: 170, south: -20, east: -170, north: -10),
    BoundingBox(west: 170, south: -20, east: 190, north: -10),
    BoundingBox(west: -190, south: -20, east: -170, north: -10),
  ])
  func regionsAcrossTheAntimeridianSpanAllLongitudesAndAreCentred(bounds: BoundingBox) throws {
    let tiles = TileMatrixSet.webMercatorQuad.ranges(covering: bounds, zoom: 6).flatMap(Array.init)
    let found = try values(BundleMetadata(name: "Fiji", bounds: bounds), tiles: tiles)
    #expect(found.bounds == BoundingBox(west: -180, south: -20, east: 180, north: -10))
    #expect(abs(abs(found.center?.longitude ?? 0) - 180) < 1e-9)
    #expect(found.center?.zoom == 6)
  }

  @Test func invalidMetadataIsRefused() {
    for metadata in [
      BundleMetadata(name: ""), BundleMetadata(name: "a\0b"), BundleMetadata(name: "x", extra: ["format": "jpg"]),
      BundleMetadata(name: "x", extra: ["": "y"]), BundleMetadata(name: "x", extra: ["tile_matrix_set": "y"]),
    ] {
      let error = #expect(throws: BundleError.self) { try values(metadata, tiles: [tile(0, 0, 0)]) }
      #expect(error?.code == .invalidContent)
    }
  }

  @Test(arguments: [
    (0.0, "0"), (-0.0, "0"), (180.0, "180"), (-85.0511287798066, "-85.0511287798066"), (1e-5, "0.00001"),
    (-1.25e-7, "-0.000000125"), (1e16, "10000000000000000"), (1.5e17, "150000000000000000"), (0.1, "0.1"),
    (123456.789, "123456.789"),
  ])
  func numbersHaveNoExponent(value: Double, text: String) {
    #expect(DecimalText.text(value) == text)
  }

  @Test func numbersRoundTrip() {
    var random = SeededGenerator(seed: 81)
    for _ in 0..<5_000 {
      let scale: Double = [1e-12, 1e-6, 1, 180, 1e18].randomElement(using: &random)!
      let value = Double.random(in: -1...1, using: &random) * scale
      let text = DecimalText.text(value)
      #expect(Double(text) == value, "seed 81")
      #expect(!text.contains("e"))
    }
  }
}
