import Foundation
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct PlaceTableTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  static let places = [
    Place(name: "Zürich", kind: "city", longitude: 8.55, latitude: 47.37, importance: 0.8),
    Place(name: "Zürichberg", kind: "peak", longitude: 8.57, latitude: 47.38, importance: 0.2),
    Place(name: "Longs Peak", kind: "peak", longitude: -105.616, latitude: 40.255, importance: 0.4),
    Place(name: "Springfield", kind: "city", longitude: -89.65, latitude: 39.8, importance: 0.6),
    Place(name: "Springfield", kind: "village", longitude: -72.58, latitude: 42.1, importance: 0.5),
    Place(name: "東京", kind: "city", longitude: 139.7, latitude: 35.7, importance: 1),
  ]

  private func table(_ places: [Place] = places) throws -> PlaceTable {
    let path = try folder.writeBundle("a.mbtiles", zooms: 0...0, places: places)
    return try #require(try BundleFile.open(path).placeTable())
  }

  @Test func placeTablesMatchTheDocumentation() throws {
    _ = try table()
    let database = try Database(folder.file("a.mbtiles"))
    #expect(try database.run("PRAGMA integrity_check") == [["ok"]])
    try database.run("INSERT INTO places_index (places_index) VALUES ('integrity-check')")
    #expect(
      try database.run(
        """
        SELECT places.name, kind, longitude, latitude FROM places JOIN places_index ON id = places_index.rowid \
        WHERE places_index MATCH 'zuri*' ORDER BY importance DESC LIMIT 1
        """) == [["Zürich", "city", "8.55", "47.37"]])
    func faults() throws -> [String] {
      try BundleVerifier(path: folder.file("a.mbtiles")) { _, _ in nil }.verify().outcomes
        .flatMap(\.findings).filter { ["database", "places"].contains($0.rule) }.map(\.message)
    }
    #expect(try faults() == [])
    try database.run("UPDATE places SET latitude = 95 WHERE name = 'Longs Peak'")
    try database.run("DROP TABLE places_index_data")
    #expect(try faults().contains { $0.contains("latitude 95") })
  }

  @Test(arguments: [
    (Place(name: "", longitude: 0, latitude: 0), "no name"),
    (Place(name: "x", longitude: 181, latitude: 0), "longitude"),
    (Place(name: "x", longitude: 0, latitude: .nan), "latitude"),
    (Place(name: "x", longitude: 0, latitude: 0, importance: 2), "importance"),
    (Place(name: "a\u{0}", longitude: 0, latitude: 0), "NUL"),
  ])
  func invalidPlacesAreRefused(_ place: Place, _ word: String) throws {
    let writer = try BundleWriter(path: folder.file("c.mbtiles"), matrixSet: .webMercatorQuad, format: .png)
    let error = #expect(throws: BundleError.self) { try writer.write(places: [Self.places[0], place]) }
    #expect(
      error?.code == .invalidContent && error?.message.contains(word) == true
        && error?.message.contains("place 2") == true)
  }

  @Test func placesAreStoredByFallingImportance() throws {
    let places = try table().places().valid
    #expect(places.map(\.importance) == Self.places.map(\.importance).sorted(by: >))
    #expect(Set(places) == Set(Self.places))
    // The input order does not matter.
    let first = try folder.bytes("a.mbtiles")
    _ = try table(Self.places.reversed())
    #expect(try folder.bytes("a.mbtiles") == first)
  }
}
