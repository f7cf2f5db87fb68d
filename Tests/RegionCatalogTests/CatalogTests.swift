import TestSupport
import Testing
import TileIndex

@testable import RegionCatalog

@Suite(.ownThread) struct CatalogTests {
  private func catalogue() throws -> Catalog {
    let tiles = try (0...3).flatMap { zoom in
      try (0..<1 << zoom).map { SizedTile(try TileID(zoom: zoom, column: $0, row: 0), bytes: 50_000) }
    }
    let plan = try TilePackPlan(tiles, matrixSet: .webMercatorQuad, bytesMax: 400_000)
    var region = Catalog.Region.sample(.webMercatorQuad, plan)
    region.title = "Zürich \"und\" Umgebung\n"
    region.boundary = RegionBoundary(polygons: [[[SIMD2(0, 0), SIMD2(1.5, 0), SIMD2(1, 1), SIMD2(0, 0)]]])
    region.patches = [Catalog.Patch(fromEdition: "1", fromTilesHash: "7", file: "p", bytes: 3, sha256: "8")]
    region.preview = Catalog.File(file: "a.png", bytes: 5, sha256: "9")
    var other = Catalog.Region.sample(
      TilePackPlanTests.levels, try TilePackPlan([], matrixSet: TilePackPlanTests.levels, bytesMax: 1))
    other.id = "b"
    return Catalog(regions: [region, other])
  }

  @Test func cataloguesRoundTrip() throws {
    let catalogue = try catalogue()
    #expect(catalogue.regions[0].packs.count > 1)
    let read = try Catalog(parsing: catalogue.bytes, path: "catalogue.json")
    #expect(read == catalogue && read.bytes == catalogue.bytes)
    #expect(read["b"]?.matrixSet == TilePackPlanTests.levels && read["c"] == nil)
    #expect(read.regions[0].files.count == 3 + catalogue.regions[0].packs.count)
  }

  /// Untrusted documents are refused with the position in the document.
  @Test(arguments: [
    ("", "is not valid JSON"), ("[]", "has no version"), (#"{"version":2,"regions":[]}"#, "is of version 2"),
    (#"{"version":1}"#, "regions is missing"),
    (#"{"version":1,"regions":[{"id":5}]}"#, "regions[0].id is not a string"),
    (#"{"version":1,"regions":[{"id":"a"}]}"#, "regions[0].productId is missing"),
  ])
  func malformedCataloguesAreRefusedWithThePosition(json: String, expected: String) {
    #expect { try Catalog(parsing: Array(json.utf8), path: "c.json") } throws: { error in
      "\(error)".hasPrefix("c.json: ") && "\(error)".contains(expected) && "\(error)".contains("; ")
    }
  }

  /// One member is changed at a time.
  @Test(arguments: [
    (#""bounds":[-180,-85,180,85]"#, #""bounds":[-180,-85,180]"#, "bounds are not"),
    (#""file":"a.mbtiles""#, #""file":"../a.mbtiles""#, "is no name"),
    (#""tileMatrixSet":"WebMercatorQuad""#, #""tileMatrixSet":"Other""#, "regions[0].tileMatrixSet"),
    (#""roots":[""#, #""roots":["9/9999/0",""#, "outside the grid"), (#""roots":[""#, #""roots":["x",""#, "is no tile"),
    (#","roots""#, #"000,"roots""#, "packs[0].maxzoom is not above minzoom"),
    (#""minzoom":0"#, #""minzoom":0.5"#, "minzoom is not"),
    (#""type":"Polygon""#, #""type":"MultiPolygon""#, "boundary.coordinates"),
  ])
  func invalidMembersAreRefused(old: String, new: String, expected: String) throws {
    let text = String(decoding: try catalogue().bytes, as: UTF8.self)
    let place = try #require(text.firstRange(of: old))
    let changed = text.replacingCharacters(in: place, with: new)
    #expect { try Catalog(parsing: Array(changed.utf8), path: "c.json") } throws: { "\($0)".contains(expected) }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64]) func damagedCataloguesNeverTrap(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let bytes = try catalogue().bytes
    for _ in 0..<300 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        damaged[Int.random(in: damaged.indices, using: &random)] = UInt8.random(in: 32...126, using: &random)
      }
      if let read = try? Catalog(parsing: damaged, path: "c") {
        _ = read.regions.map { $0.files(covering: .point(longitude: 3, latitude: 80)) }
      }
    }
  }

  /// The overview's tiles cover the whole world, the region only a part of it.
  @Test func splitRegionsHaveFilesOnlyWithinTheirBounds() throws {
    var region = try catalogue().regions[0]
    region.bounds = [-100, 70, -90, 80]
    #expect(region.packs.first?.isOverview == true)
    let inside = region.files(covering: .point(longitude: -95, latitude: 75))
    #expect(inside.first?.kind == .overview)
    #expect(region.files(covering: .point(longitude: 150, latitude: -33)).isEmpty)
    #expect(region.files(covering: .box(BoundingBox(west: 140, south: -40, east: 150, north: -30))).isEmpty)
    #expect(region.files(covering: .track(Track(lines: [[SIMD2(140, -40), SIMD2(150, -30)]]))).isEmpty)
  }

  /// For split and unsplit regions.
  @Test(arguments: [0, 1]) func regionsAcrossTheAntimeridianAreFoundOnBothSides(number: Int) throws {
    var region = try catalogue().regions[number]
    region.bounds = [170, 70, -170, 80]
    func isFound(_ ground: MapGround) -> Bool { !region.files(covering: ground).isEmpty }
    for (longitude, expected) in [(171.0, true), (180, true), (-180, true), (-171, true), (-160, false), (0, false)] {
      #expect(isFound(.point(longitude: longitude, latitude: 75)) == expected, "\(longitude)")
      let box = BoundingBox(west: longitude - 0.5, south: 74, east: longitude + 0.5, north: 76)
      #expect(isFound(.box(box)) == expected, "\(longitude)")
      #expect(isFound(.track(Track(lines: [[SIMD2(longitude, 75)]]))) == expected, "\(longitude)")
    }
    #expect(isFound(.box(BoundingBox(west: 160, south: 60, east: -160, north: 90))))
    #expect(isFound(.track(Track(lines: [[SIMD2(160, 75), SIMD2(-160, 75)]]))))
    #expect(!isFound(.track(Track(lines: [[SIMD2(160, 75), SIMD2(0, 75), SIMD2(-160, 75)]]))))
  }

  @Test func unsplitRegionsHaveOneFile() throws {
    var region = try catalogue().regions[1]
    region.bounds = [10, 40, 20, 50]
    func files(_ ground: MapGround) -> [CoveringFile] { region.files(covering: ground) }
    #expect(files(.point(longitude: 15, latitude: 45)).map(\.kind) == [.whole])
    #expect(files(.point(longitude: 375, latitude: 45)).count == 1)
    #expect(files(.point(longitude: 25, latitude: 45)).isEmpty)
    #expect(files(.box(BoundingBox(west: 0, south: 0, east: 12, north: 41))).count == 1)
    #expect(files(.box(BoundingBox(west: 0, south: 0, east: 5, north: 41))).isEmpty)
    #expect(files(.track(Track(lines: [[SIMD2(0, 45), SIMD2(30, 45)]]))).count == 1)
    #expect(files(.track(Track(lines: [[SIMD2(0, 60), SIMD2(30, 70)]]))).isEmpty)
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

extension String {
  fileprivate func replacingCharacters(in range: Range<String.Index>, with other: String) -> String {
    var copy = self
    copy.replaceSubrange(range, with: other)
    return copy
  }
}
