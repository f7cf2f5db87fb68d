import Foundation
import Support
import TestSupport
import Testing
import TileIndex

@Suite(.ownThread) struct PlaceIndexTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  static let places = [
    Place(name: "Zürich", kind: "city", longitude: 8.55, latitude: 47.37, importance: 0.8),
    Place(name: "Zürichberg", kind: "peak", longitude: 8.57, latitude: 47.38, importance: 0.2),
    Place(name: "Lake Zurich", kind: "lake", longitude: 8.7, latitude: 47.25, importance: 0.5),
    Place(name: "Longs Peak", kind: "peak", longitude: -105.616, latitude: 40.255, importance: 0.4),
    Place(name: "Peak View", kind: "viewpoint", longitude: -105.2, latitude: 40, importance: 0.1),
    Place(name: "Springfield", kind: "city", longitude: -89.65, latitude: 39.8, importance: 0.6),
    Place(name: "Springfield", kind: "village", longitude: -72.58, latitude: 42.1, importance: 0.5),
    Place(name: "東京", kind: "city", longitude: 139.7, latitude: 35.7, importance: 1),
    Place(name: "O'Fallon \"The\" AND*", kind: "oddity", longitude: 0, latitude: 0),
  ]

  private func index(_ places: [Place] = places) throws -> PlaceIndex {
    try folder.writeBundle("a.mbtiles", zooms: 0...0, places: places)
    return try #require(try PlaceIndex(BundleFile.open(folder.file("a.mbtiles"))))
  }

  @Test(arguments: [
    ("zurich", ["Zürich", "Zürichberg", "Lake Zurich"]), ("ZÜRICH", ["Zürich", "Zürichberg", "Lake Zurich"]),
    ("zu", ["Zürich", "Zürichberg", "Lake Zurich"]), ("z", ["Zürich", "Zürichberg", "Lake Zurich"]),
    ("lake zur", ["Lake Zurich"]), ("zurich lake", ["Lake Zurich"]), ("peak", ["Peak View", "Longs Peak"]),
    ("long peak", []), ("longs pea", ["Longs Peak"]), ("東", ["東京"]), ("東京", ["東京"]), ("nowhere", []),
  ])
  func placesAreFoundByWords(_ text: String, _ names: [String]) throws {
    #expect(try index().search(PlaceQuery(text)).map(\.place.name) == names)
  }

  @Test func nearbyPlacesRankHigher() throws {
    let index = try index()
    func kinds(_ longitude: Double, _ latitude: Double) throws -> [String] {
      try index.search(
        PlaceQuery("springfield", near: PlaceQuery.Coordinate(longitude: longitude, latitude: latitude))
      ).map(\.place.kind)
    }
    #expect(try index.search(PlaceQuery("springfield")).map(\.place.kind) == ["city", "village"])
    #expect(try kinds(-72.6, 42.1) == ["village", "city"])
    #expect(try kinds(-89.6, 39.8) == ["city", "village"])
    let near = try index.search(
      PlaceQuery("springfield", near: PlaceQuery.Coordinate(longitude: -72.58, latitude: 43.1)))
    let village = try #require(near.first { $0.place.kind == "village" })
    // A degree of latitude.
    #expect(abs(try #require(village.distance) - 111_195) < 200)
  }

  /// One nearby place among thousands of more important ones with the same name.
  @Test func nearbyPlacesAreFoundAmongManyMoreImportantOnes() throws {
    var places = (0..<3000).map {
      Place(
        name: "Main Street", longitude: Double($0 % 300) / 10 - 100, latitude: 20 + Double($0 / 300), importance: 0.5)
    }
    places.append(Place(name: "Main Street", kind: "ours", longitude: 10, latitude: 50, importance: 0.01))
    let found = try index(places).search(
      PlaceQuery("main st", near: PlaceQuery.Coordinate(longitude: 10.01, latitude: 50)))
    #expect(found.first?.place.kind == "ours" && found.count == 10)
  }

  @Test(arguments: [
    "", " ", "\"", "'", "*", "AND", "OR NOT", "a AND (b", "NEAR(", "name:zurich", "zurich*", "^zurich", "-", "--", "{}",
    "\\", "%",
    "\u{301}", "\u{0}", "🏔️", "a\u{0}b", "zurich\" OR \"peak", "+zurich", "zurich, lake", "o'fallon", "((((", "\"\"\"",
    "；", "col : x",
    "\u{200d}\u{fe0f}", "ß", "İ", "ﬁ",
  ])
  func anyTextIsAValidQuery(_ text: String) throws {
    let index = try index()
    for query in [text, text + text, "zurich \(text)", String(repeating: text + " ", count: 500)] {
      _ = try index.search(PlaceQuery(query, near: PlaceQuery.Coordinate(longitude: 180, latitude: 90)))
    }
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>) func randomTextIsAValidQuery(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let index = try index()
    for _ in 0..<20 {
      let scalars = (0..<Int.random(in: 0...20, using: &random)).compactMap { _ in
        Unicode.Scalar(
          UInt32.random(in: 0...(Bool.random(using: &random) ? 127 : 0x1_ffff), using: &random))
      }
      let text = String(String.UnicodeScalarView(scalars))
      _ = try index.search(PlaceQuery(text))
    }
  }

  @Test func placesAreFoundByTheirOwnNames() throws {
    let index = try index()
    for place in Self.places {
      #expect(try index.search(PlaceQuery(place.name, limit: 3)).contains { $0.place == place }, "\(place.name)")
    }
  }

  @Test func bundlesWithoutPlacesHaveNoIndex() throws {
    try folder.writeSingleTile("b.mbtiles", SampleTiles.image(1))
    #expect(try PlaceIndex(BundleFile.open(folder.file("b.mbtiles"))) == nil)
  }

  /// Tables with the right names but invalid contents.
  @Test func invalidTablesAreHandled() throws {
    _ = try index()
    do {
      let database = try SQLiteConnection(creating: folder.file("a.mbtiles"))
      try database.execute("UPDATE places SET longitude = 'x', latitude = 400 WHERE name = 'Zürich'")
      try database.execute("UPDATE places SET name = x'ff00ff' WHERE name = '東京'")
      try database.execute("DELETE FROM places WHERE name = 'Springfield'")
    }
    let index = try #require(try PlaceIndex(BundleFile.open(folder.file("a.mbtiles"))))
    for text in ["zurich", "東京", "springfield"] { _ = try index.search(PlaceQuery(text)) }
    #expect(try index.search(PlaceQuery("lake")).count == 1)
    // A view with endless rows.
    do {
      let database = try SQLiteConnection(creating: folder.file("a.mbtiles"))
      try database.execute("ALTER TABLE places RENAME TO old")
      try database.execute(
        """
        CREATE VIEW places AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) \
        SELECT id, 'zurich' AS name, '' AS kind, 1.0 AS longitude, 2.0 AS latitude, 0.0 AS importance FROM n
        """)
    }
    let endless = try #require(try PlaceIndex(BundleFile.open(folder.file("a.mbtiles"))))
    _ = try? endless.search(PlaceQuery("zurich"))
  }
}
