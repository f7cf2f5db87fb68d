import MapStoreWire
import RegionCatalog
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// Regions that get another id while they are installed: the map stays, and nothing is downloaded again.
@Suite(.ownThread) struct RenamedRegionTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device

  init() throws {
    shop = try SampleShop()
    for id in ["alps", "coast"] { try shop.publish(id) }
    store = try ChaosStore(shop)
    device = try Device(store)
  }

  private func own(_ ids: String...) { store.book.withLock { $0.owned = Set(ids) } }
  private var downloads: Int { store.book.withLock { $0.files.count } }

  private func install(_ ids: String...) async throws {
    let manager = try device.manager()
    try await manager.refreshLibrary(from: device.client)
    for id in ids { try await manager.install(id, from: device.client) }
    store.book.withLock { $0.files = [] }
  }

  /// By the product alone, which a hand-made catalogue keeps, and by the former id, which is all that a region has
  /// whose product changed too.
  @Test(arguments: [(false, false), (true, false), (true, true)])
  func theMapGetsItsNewID(namesFormer: Bool, changesProduct: Bool) async throws {
    own("alps")
    try await install("alps")
    let bytes = try device.folder.bytes("alps.mbtiles")
    shop.rename("alps", to: "peaks", formerIDs: namesFormer ? ["alps"] : nil)
    if changesProduct { shop.change("peaks") { $0.productId = "region.peaks" } }
    own("peaks")
    let manager = try device.manager()
    let report = try await manager.sync(with: device.client)
    #expect(report.renamed == [SyncReport.Renamed(from: "alps", to: "peaks")])
    #expect(report.regions.map(\.id) == ["peaks", "coast"] && report.regions[0].status == .ownedInstalled)
    #expect(try device.folder.bytes("peaks.mbtiles") == bytes && !device.folder.names.contains("alps.mbtiles"))
    try await manager.install("peaks", from: device.client)
    #expect(downloads == 0 && device.remains.isEmpty)
    #expect(try await manager.sync(with: device.client).renamed.isEmpty)
  }

  /// The next edition comes by a patch, under the new id.
  @Test func updatesGoOn() async throws {
    own("alps")
    try await install("alps")
    let next = try shop.publish("alps")
    shop.rename("alps", to: "peaks")
    own("peaks")
    let manager = try device.manager()
    #expect(try await manager.sync(with: device.client).regions[0].status == .updateAvailable)
    for one in try await manager.update(from: device.client) { _ = try one.result.get() }
    #expect(try FileHash.sha256(ofFile: device.folder.file("peaks.mbtiles")) == next.sha256)
    let wholes = store.book.withLock { $0.files.count { !$0.isPatch } }
    #expect(wholes == 0)
  }

  /// Two regions exchange their ids: each product keeps its map.
  @Test func idsAreExchanged() async throws {
    own("alps", "coast")
    try await install("alps", "coast")
    let (alps, coast) = (try device.folder.bytes("alps.mbtiles"), try device.folder.bytes("coast.mbtiles"))
    shop.rename("alps", to: "x")
    shop.rename("coast", to: "alps")
    shop.rename("x", to: "coast")
    let manager = try device.manager()
    let report = try await manager.sync(with: device.client)
    #expect(Set(report.renamed.map(\.from)) == ["alps", "coast"])
    #expect(try device.folder.bytes("alps.mbtiles") == coast && device.folder.bytes("coast.mbtiles") == alps)
    #expect(report.regions.allSatisfy { $0.status == .ownedInstalled } && downloads == 0)
    for id in ["alps", "coast"] { #expect(try await manager.verify(id)) }
  }

  /// Packs and interrupted downloads belong to the region too.
  @Test func packsAndDownloadsFollow() async throws {
    try shop.publish("delta", packs: true)
    own("delta", "alps")
    do {
      let manager = try device.manager { $0.retry.attemptsMax = 1 }
      try await manager.refreshLibrary(from: device.client)
      try await manager.install("delta", around: .point(longitude: 1, latitude: 1), from: device.client)
      store.fault.withLock { $0 = { _ in .cut(40_000) } }
      await #expect(throws: MapStoreError.self) { try await manager.install("alps", from: device.client) }
      store.fault.withLock { $0 = { _ in .none } }
    }
    shop.rename("delta", to: "mouth")
    shop.rename("alps", to: "peaks")
    own("mouth", "peaks")
    store.book.withLock { $0.files = [] }
    let manager = try device.manager()
    let regions = try await manager.sync(with: device.client).regions
    #expect(regions.first { $0.id == "mouth" }?.packs.count == 2)
    #expect(regions.first { $0.id == "peaks" }?.installed != nil)
    // The download went on where it was.
    #expect(store.book.withLock { $0.files.first?.range?.hasPrefix("bytes=0-") } == false)
  }

  /// A region that left the catalogue beside another of its product is not that one.
  @Test func regionsOfOneProductAreNotMixedUp() async throws {
    shop.change("coast") { $0.productId = "region.alps" }
    own("alps", "coast")
    try await install("alps")
    let alps = try device.folder.bytes("alps.mbtiles")
    store.lie.withLock { lie in
      lie = { name, answer in
        guard name == "POST /v1/library", var library = try? WireJSON.decode(Library.self, from: answer.body) else {
          return answer
        }
        library.regions.removeAll { $0.id == "alps" }
        var answer = answer
        answer.body = (try? WireJSON.encode(library)) ?? []
        return answer
      }
    }
    let report = try await device.manager().sync(with: device.client)
    #expect(report.renamed.isEmpty && report.regions.map(\.id) == ["coast", "alps"])
    #expect(try device.folder.bytes("alps.mbtiles") == alps)
  }

  /// An older version of the client fetched the map under the new id as well: the copy goes.
  @Test func copiesUnderFormerIDsGo() async throws {
    own("alps", "coast")
    try await install("alps", "coast")
    shop.change("alps") { $0.id = "gone" }
    shop.change("coast") { $0.formerIds = ["alps"] }
    let report = try await device.manager().sync(with: device.client)
    #expect(report.renamed == [SyncReport.Renamed(from: "alps", to: "coast")])
    #expect(!device.folder.names.contains("alps.mbtiles") && device.folder.names.contains("coast.mbtiles"))
  }

  /// The id and the product changed without a word, but the bytes are the same.
  @Test func theSameBytesAreNotDownloadedAgain() async throws {
    own("alps")
    try await install("alps")
    shop.rename("alps", to: "peaks")
    shop.change("peaks") { $0.productId = "region.peaks" }
    own("peaks")
    let manager = try device.manager()
    #expect(try await manager.sync(with: device.client).renamed.isEmpty)
    let file = try await manager.install("peaks", from: device.client)
    #expect(file.part.region == "peaks" && downloads == 0 && !device.folder.names.contains("alps.mbtiles"))
    // A damaged one is fetched.
    shop.rename("peaks", to: "tops")
    shop.change("tops") { $0.productId = "region.tops" }
    own("tops")
    _ = try await manager.sync(with: device.client)
    var bytes = Array(try device.folder.bytes("peaks.mbtiles"))
    bytes[5000] ^= 1
    try device.folder.write("peaks.mbtiles", bytes: bytes)
    try await manager.install("tops", from: device.client)
    #expect(downloads > 0)
    #expect(try await manager.verify("tops"))
  }

  /// Killed between any two steps, the next start has all regions under the one or the other name.
  @Test(arguments: RegionRenaming.Step.allCases)
  func killsLeaveOneName(point: RegionRenaming.Step) async throws {
    struct Killed: Error {}
    own("alps", "coast")
    try await install("alps", "coast")
    let renames = [RegionRename(from: "alps", to: "coast"), RegionRename(from: "coast", to: "alps")]
    let (alps, coast) = (try device.folder.bytes("alps.mbtiles"), try device.folder.bytes("coast.mbtiles"))
    do {
      let manager = try device.manager()
      let renaming = RegionRenaming(
        state: manager.state, files: manager.files, onStep: { if $0 == point { throw Killed() } })
      #expect(throws: Killed.self) { try renaming.run(renames) }
    }
    let manager = try device.manager()
    #expect(try manager.installed().count == 2 && device.remains.isEmpty)
    #expect(try device.folder.bytes("alps.mbtiles") == coast && device.folder.bytes("coast.mbtiles") == alps)
    for id in ["alps", "coast"] { #expect(try await manager.verify(id)) }
    #expect(try manager.state.setting("renaming") == nil)
  }
}
