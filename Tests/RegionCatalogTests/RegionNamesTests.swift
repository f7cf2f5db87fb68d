import Support
import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog

/// Former ids and products of regions, in manifests and catalogues.
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

  /// Catalogues without former names have the bytes that they had before there were any.
  @Test func cataloguesHaveFormerNames() throws {
    let plan = try TilePackPlan([], matrixSet: .webMercatorQuad, bytesMax: 1)
    var (region, other) = (
      Catalog.Region.sample(.webMercatorQuad, plan), Catalog.Region.sample(.webMercatorQuad, plan)
    )
    (other.id, other.productId) = ("b", "b")
    #expect(!String(decoding: Catalog(regions: [region]).bytes, as: UTF8.self).contains("former"))
    (region.formerIds, region.formerProductIds) = (["old"], ["p0", "p1"])
    let bytes = Catalog(regions: [region, other]).bytes
    let read = try Catalog(parsing: bytes, path: "c")
    #expect(read.bytes == bytes && read.regions[0].names.ids == ["a", "old"])
    #expect(read.regions[0].names.products == ["a", "p0", "p1"])
    region.formerIds = ["b"]
    #expect {
      try Catalog(parsing: Catalog(regions: [region, other]).bytes, path: "c.json")
    } throws: {
      "\($0)".contains(#"c.json: regions[0].formerIds[0] is "b", which is an id of regions[1]"#)
    }
    region.formerIds = ["../b"]
    #expect { try Catalog(parsing: Catalog(regions: [region]).bytes, path: "c") } throws: {
      "\($0)".contains("formerIds[0] is no id")
    }
  }
}
