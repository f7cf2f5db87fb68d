import Support
import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog
@testable import TileCut

/// Former ids and products of regions, in manifests.
@Suite(.ownThread) struct RegionNamesTests {
  private func manifest(_ regions: String...) throws -> RegionManifest {
    let folder = try TemporaryFolder()
    let list = regions.map { #"{"title": "T", "category": "c", "sources": ["a.tif"], \#($0)}"# }.joined(separator: ",")
    return try RegionManifest(path: try folder.write("regions.json", "{\"regions\": [\(list)]}"))
  }

  @Test func manifestNamesWhatRegionsWere() throws {
    let regions = try manifest(
      #""id": "a", "productId": "p", "formerIds": ["b", "c"], "formerProductIds": ["q", "r"]"#,
      // A former product may lead to two regions, as when one is divided.
      #""id": "d", "formerProductIds": ["q"]"#
    ).regions
    #expect(regions[0].names.ids == ["a", "b", "c"] && regions[0].names.products == ["p", "q", "r"])
    #expect(regions[1].names == RegionNames(id: "d", productID: "d", formerProductIDs: ["q"]))
  }

  @Test(arguments: [
    (#""id": "a", "formerIds": ["a"]"#, #""id": "b""#, #"regions[0].formerIds[0] repeats "a""#),
    (#""id": "a", "formerIds": ["c", "c"]"#, #""id": "b""#, #"regions[0].formerIds[1] repeats "c""#),
    (
      #""id": "a", "formerIds": ["b"]"#, #""id": "b""#, #"regions[0].formerIds[0] is "b", which is an id of regions[1]"#
    ),
    (
      #""id": "a", "formerIds": ["b"]"#, #""id": "b", "formerIds": ["a"]"#,
      #"regions[1].formerIds[0] is "a", which is an id of regions[0]"#
    ),
    (
      #""id": "a", "formerIds": ["c"]"#, #""id": "b", "formerIds": ["c"]"#,
      #"regions[1].formerIds[0] is "c", as a former id of regions[0] is"#
    ),
    (
      #""id": "a", "formerProductIds": ["b"]"#, #""id": "b""#,
      #"regions[0].formerProductIds[0] is "b", which is a product of regions[1]"#
    ),
    (#""id": "a", "productId": "p", "formerProductIds": ["p"]"#, #""id": "b""#, "formerProductIds[0] repeats"),
    (#""id": "a", "formerIds": ["../b"]"#, #""id": "b""#, "regions[0].formerIds[0] is not a usable name"),
    (#""id": "a", "formerIds": "b""#, #""id": "b""#, "regions[0].formerIds is a string, not an array"),
    (#""id": "a", "formerIDs": ["b"]"#, #""id": "b""#, #"did you mean "formerIds"?"#),
  ])
  func contradictionsAreRefused(first: String, second: String, expected: String) {
    #expect { try manifest(first, second) } throws: { "\($0)".contains(expected) }
  }
}
