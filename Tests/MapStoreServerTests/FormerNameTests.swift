import Foundation
import MapStoreWire
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreServer
@testable import PurchaseLedger

/// Regions that had other ids and products: who bought or installed them then has them now.
@Suite(.ownThread) struct FormerNameTests {
  /// Changes the catalogue's document, as a newer build does, and waits until the store has it.
  private static func change(_ store: TestStore, _ change: (inout [Catalog.Region]) -> Void) throws {
    var regions = try store.catalog.catalogue().regions
    change(&regions)
    let path = "\(store.catalog.path)/catalogue.json"
    try Data(Catalog(regions: regions).bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
    store.server.service.catalog.refresh()
    #expect(store.server.service.catalog.snapshot.regions == regions)
  }

  @Test func ownersOfFormerProductsOwnTheRegion() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let link = try await store.ticket("alps", as: anna).url
      try Self.change(store) { regions in
        regions[0].id = "peaks"
        regions[0].productId = "org.example.maps.peaks"
        regions[0].formerIds = ["alps"]
        regions[0].formerProductIds = [TestCatalog.product("alps")]
      }
      let library = try await store.library(of: anna, installed: "alps@1")
      #expect(library["peaks"]?.status == .ownedInstalled && library["alps"] == nil)
      #expect(library["peaks"]?.formerIds == ["alps"] && library["rhine"]?.formerIds == nil)
      // A link of before goes on, and so does a device that knows the former id only.
      #expect(try await store.send("GET", link, ["Range": "bytes=0-9"]).status == 206)
      for id in ["peaks", "alps"] {
        let ticket = try await store.ticket(id, as: anna)
        #expect(try ticket.regionId == id && ticket.sha256 == store.catalog.catalogue().regions[0].sha256)
        let answer = try await store.send("GET", StoreRoute.region.path(id), token: anna.token)
        #expect(try WireJSON.decode(RegionDetails.self, from: answer.body).region.id == id)
        #expect(try await store.send("GET", StoreRoute.preview.path(id)).status == 200)
      }
      // A device opens what it has under either id.
      let grants = try await store.send("GET", StoreRoute.grants.path, token: anna.token)
      let payload = try #require(
        Base64URL.decode(try WireJSON.decode(SignedGrants.self, from: grants.body).payload))
      let document = try WireJSON.decode(GrantDocument.self, from: payload)
      #expect(document.grants.map(\.regionId) == ["peaks", "alps"])
      #expect(Set(document.grants.map(\.productId)) == [TestCatalog.product("alps")])
      // An app with an older catalogue sells the former product.
      let bert = try store.person()
      let bought = try await store.post([try store.evidence("alps", for: bert)], as: bert)
      #expect(bought[0].items[0].regionId == "peaks")
      #expect(try await store.library(of: bert)["peaks"]?.status == .ownedNotInstalled)
      // Others do not own it by either name.
      let cleo = try store.person()
      #expect(try await store.library(of: cleo)["peaks"]?.status == .forSale)
      let refused = try await store.send(
        "POST", StoreRoute.downloads.path, token: cleo.token, DownloadRequest(regionId: "alps", kind: .bundle))
      #expect(refused.status == 403)
    }
  }

  /// A region was divided: the owner of the former whole has both parts. And a hand-made catalogue with one product.
  @Test func aProductMayLeadToSeveralRegions() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("retired", for: anna)], as: anna)
      try Self.change(store) { regions in
        regions.removeAll { $0.id == "retired" }
        regions[0].formerProductIds = [TestCatalog.product("retired")]
        regions[1].formerProductIds = [TestCatalog.product("retired")]
      }
      let library = try await store.library(of: anna)
      #expect(library["alps"]?.status == .ownedNotInstalled && library["rockies"]?.status == .ownedNotInstalled)
      #expect(library["rhine"]?.status == .forSale)
      _ = try await store.ticket("rockies", as: anna)
      try Self.change(store) { regions in for index in 0...1 { regions[index].productId = "both" } }
      let bert = try store.person()
      _ = try await store.post([try store.evidence("x", for: bert) { $0.productID = "both" }], as: bert)
      let both = try await store.library(of: bert)
      #expect(both["alps"]?.status == .ownedNotInstalled && both["rockies"]?.status == .ownedNotInstalled)
    }
  }

  /// Products that accounts own and no region has are named once, and counted.
  @Test func productsWithoutARegionAreNamed() async throws {
    let lines = Locked<[String]>([])
    try await TestStore.run(log: lines) { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      func orphans() async throws -> String? {
        let metrics = String(decoding: try await store.send("GET", StoreRoute.metrics.path).body, as: UTF8.self)
        return metrics.split(separator: "\n").first { $0.hasPrefix("mapstore_orphaned_products ") }.map(String.init)
      }
      #expect(try await orphans()?.hasSuffix(" 0") == true)
      for _ in 0..<2 {
        try Self.change(store) { regions in regions[0].productId += "x" }
        store.server.service.checkOwners()
      }
      #expect(try await orphans()?.hasSuffix(" 1") == true)
      let named = lines.withLock { $0.filter { $0.contains(TestCatalog.product("alps") + ": no region") } }
      #expect(named.count == 1 && named[0].contains("1 accounts") && named[0].contains("formerProductIds"), "\(named)")
    }
  }
}
