import Foundation
import TestSupport
import Testing
import TileIndex

/// The search for places.
@Suite(.ownThread) struct PlacesConversationTests {
  private struct Collection: Decodable {
    struct Feature: Decodable {
      struct Properties: Decodable {
        let name: String
        let kind: String
        let importance: Double
        let distance: Double?
      }
      struct Geometry: Decodable {
        let type: String
        let coordinates: [Double]
      }
      let properties: Properties
      let geometry: Geometry
    }
    let type: String
    let features: [Feature]
  }

  private static let hills = [
    Place(name: "Old <b>Hill</b>", kind: "hill", longitude: 10, latitude: 20, importance: 0.5),
    Place(name: "Hill & Dale", kind: "village", longitude: -30, latitude: 40, importance: 0.25),
  ]
  private static let towns = [Place(name: "Hilltown", kind: "town", longitude: 1, latitude: 2, importance: 0.75)]

  private func bundleFolder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.writeBundle("hills.mbtiles", zooms: 0...1, places: Self.hills)
    try folder.writeBundle("towns.mbtiles", zooms: 0...1, seed: 1, places: Self.towns)
    try folder.writeBundle("plain.mbtiles", zooms: 0...1, seed: 2)
    return folder
  }

  private func names(_ response: HTTPResponse) throws -> [String] {
    #expect(response.status == 200 && response["Content-Type"] == "application/geo+json", "\(response)")
    let found = try JSONDecoder().decode(Collection.self, from: Data(response.body))
    #expect(found.type == "FeatureCollection" && found.features.allSatisfy { $0.geometry.type == "Point" })
    return found.features.map(\.properties.name)
  }

  @Test(arguments: ["hills.mbtiles", "hills.pmtiles", "hills.gpkg", "hills/"])
  func placesAreGeoJSON(_ container: String) async throws {
    let folder = try bundleFolder()
    let converted = try TemporaryFolder()
    _ = try BundleConvert().write(BundleFile.open(folder.file("hills.mbtiles")), to: converted.file(container))
    try await serving([converted.path]) { (served) async throws in
      #expect(try names(served.get("/hills/places?q=hill")) == ["Hill & Dale", "Old <b>Hill</b>"])
      #expect(try names(served.get("/hills/places?q=hill&near=10,20")) == ["Old <b>Hill</b>", "Hill & Dale"])
      #expect(try names(served.get("/hills/places?q=hill&limit=1")).count == 1)
      #expect(try names(served.get("/hills/places?q=")) == [])
      #expect(try names(served.get("/hills/places?q=nothing")) == [])
      #expect(try names(served.get("/hills/places?q=%22*%28AND%20NEAR%28%27")) == [])
      let near = try JSONDecoder().decode(
        Collection.self, from: Data(served.get("/hills/places?q=old&near=10,21").body))
      #expect(near.features.first?.properties.distance.map { abs($0 - 111_195) < 200 } == true)
      #expect(near.features.first?.geometry.coordinates == [10, 20])
    }
  }

  @Test func compositesSearchAllLayers() async throws {
    let folder = try bundleFolder()
    try await serving([folder.path]) { (served) async throws in
      #expect(
        try Set(names(served.get("/plain,hills,towns/places?q=hil"))) == ["Hilltown", "Hill & Dale", "Old <b>Hill</b>"])
      #expect(try served.get("/plain/places?q=hil").status == 404)
      #expect(try served.get("/atlantis/places?q=hil").status == 404)
    }
  }

  @Test(arguments: [
    "/hills/places", "/hills/places?near=1,2", "/hills/places?q=x&near=1", "/hills/places?q=x&near=1,95",
    "/hills/places?q=x&near=a,b", "/hills/places?q=x&limit=0", "/hills/places?q=x&limit=101",
    "/hills/places?q=x&limit=many",
  ])
  func malformedSearchesAreRefused(_ target: String) async throws {
    let folder = try bundleFolder()
    try await serving([folder.path]) { (served) async throws in #expect(try served.get(target).status == 400) }
  }

  @Test func tileJSONNamesTheSearch() async throws {
    let folder = try bundleFolder()
    try await serving([folder.path]) { (served) async throws in
      #expect(try served.get("/hills.json").text.contains(#""places":"http://localhost/hills/places""#))
      #expect(try !served.get("/plain.json").text.contains("places"))
      let first = try served.get("/hills/places?q=old")
      #expect(first["Access-Control-Allow-Origin"] == "*" && first["Cache-Control"] == "no-cache")
      #expect(try served.get("/hills/places?q=old", ["If-None-Match": try #require(first["ETag"])]).status == 304)
      #expect(try served.get("/hills/places?q=old", method: "HEAD").body.isEmpty)
      #expect(try served.get("/hills/places?q=old", method: "POST").status == 405)
      #expect(try served.get("/metrics").text.contains(#"route="places""#))
    }
  }
}
