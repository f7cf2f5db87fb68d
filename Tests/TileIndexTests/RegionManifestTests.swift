import Foundation
import TestSupport
import Testing

@testable import TileIndex

struct RegionManifestTests {
  private func manifest(_ json: String) throws -> RegionManifest {
    let folder = try TemporaryFolder()
    let path = folder.file("regions.json")
    try Data(json.utf8).write(to: URL(fileURLWithPath: path))
    return try RegionManifest(path: path)
  }

  /// The place and message of the error that a manifest gives.
  private func complaint(_ json: String) -> String? {
    do {
      _ = try manifest(json)
      return nil
    } catch {
      return (error as? ManifestError).map { "\($0.place ?? "-") \($0.message)" }
    }
  }

  private func region(_ fields: String = "") -> String {
    #"{"id": "a", "title": "A", "category": "park", "sources": ["a.tif"]\#(fields)}"#
  }

  @Test func readsARegion() throws {
    let read = try manifest(#"{"regions": [\#(region(#", "attribution": "us""#))]}"#)
    #expect(read.regions.map(\.id) == ["a"])
    #expect(read.regions[0].sources == ["a.tif"])
    #expect(read.regions[0].attribution == "us")
    #expect(read.regions[0].description == nil)
  }

  @Test func unknownKeysAreLeftToLaterVersions() throws {
    #expect(try manifest(#"{"regions": [\#(region(#", "price": 3"#))], "edition": 2}"#).regions.count == 1)
  }

  @Test(arguments: [
    (#"{"regions": ["#, "line 1 is not valid JSON"),
    (#"{"region": []}"#, "regions is missing"),
    (#"{"regions": []}"#, "regions is empty"),
    (#"{"regions": [{"id": "a", "title": "A", "sources": ["x"]}]}"#, "regions[0].category is missing"),
    (#"{"regions": [{"id": 3, "title": "A", "category": "c", "sources": ["x"]}]}"#, "regions[0].id has the wrong type"),
    (#"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": []}]}"#, "regions[0].sources is empty"),
    (
      #"{"regions": [{"id": "a/b", "title": "A", "category": "c", "sources": ["x"]}]}"#,
      #"regions[0].id is not a usable id: "a/b""#
    ),
    (
      #"{"regions": [{"id": "..", "title": "A", "category": "c", "sources": ["x"]}]}"#,
      #"regions[0].id is not a usable id: "..""#
    ),
  ])
  func saysWhatIsWrongAndWhere(json: String, expected: String) {
    #expect(complaint(json) == expected)
  }

  @Test func idsAreUnique() {
    #expect(complaint(#"{"regions": [\#(region()), \#(region())]}"#) == #"regions[1].id repeats "a""#)
  }

  @Test func missingFileIsNamed() {
    #expect { try RegionManifest(path: "/nowhere/regions.json") } throws: { error in
      "\(error)".hasPrefix("/nowhere/regions.json: cannot be read")
    }
  }
}
