import Foundation
import MapStoreWire
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// A device's process is killed (-9) at any instant: each region stays in its old or its new edition, and downloaded
/// bytes are kept.
@Suite(.ownThread) struct KillTests {
  private let shop: SampleShop
  private let store: ChaosStore
  private let first: Catalog.Region

  init() throws {
    shop = try SampleShop()
    first = try shop.publish("alps")
    store = try ChaosStore(shop, owned: ["alps"])
  }

  @discardableResult
  private func run(_ device: Device, step: Int = 0, times: Int = 1) throws -> CommandRun {
    try Command(built: "CatalogProbe").run(
      [device.folder.path, store.address, "first", "alps", "\(step)", "\(times)"], timeout: 120)
  }

  @Test(arguments: InstallStep.allCases, [false, true])
  func atEveryStep(step: InstallStep, isUpdate: Bool) async throws { try await onThread { try killAt(step, isUpdate) } }

  private func killAt(_ step: InstallStep, _ isUpdate: Bool) throws {
    // Only the patch is applied.
    guard isUpdate || step != .patched else { return }
    let device = try Device(store)
    if isUpdate {
      #expect(try run(device).status == 0)
      try shop.publish("alps")
    }
    let editions = isUpdate ? [first, try #require(shop.region("alps"))] : [first]
    let goal = editions.last!.edition
    let killed = try run(device, step: step.rawValue, times: step == .pieceRecorded && !isUpdate ? 3 : 1)
    #expect(killed.ending == .signal(9), "\(killed)")
    let between = try device.edition("alps", of: editions)
    #expect(between == (isUpdate ? "1" : nil) || between == goal, "\(between ?? "none")")
    #expect((between == goal) == (step.rawValue >= InstallStep.renamed.rawValue), "\(step)")
    store.book.withLock { $0.files = [] }
    let again = try run(device)
    #expect(again.status == 0, "\(again)")
    #expect(try device.edition("alps", of: editions) == goal)
    #expect(device.remains == [])
    // Recorded bytes on the disk are not downloaded again.
    let files = store.book.withLock { $0.files }
    switch step {
    case .planned: #expect(files.count == 1)
    case .pieceRecorded:
      let first = files.first?.range?.dropFirst("bytes=".count).split(separator: "-").first.flatMap { Int($0) }
      // A patch may be smaller than a piece; then it is complete or missing.
      #expect(first.map { $0 >= (isUpdate ? 16_384 : 3 * 16_384) } ?? (isUpdate && files.isEmpty), "\(files)")
    default: #expect(files.isEmpty, "\(step): \(files)")
    }
  }

  /// The process is killed when a patch has been recorded whose rows never end: the device's folder opens again, and
  /// the whole map takes the patch's place.
  @Test(arguments: ["info", "tiles", "metadata"], [InstallStep.received, .verified])
  func afterAnEndlessPatch(table: String, step: InstallStep) async throws {
    let device = try Device(store)
    try await onThread { [shop, first] in
      #expect(try run(device).status == 0)
      let next = try shop.publish(
        "alps",
        spoilingPatch: { path in
          let patch = try SQLiteConnection(creating: path)
          try patch.execute(
            """
            DROP TABLE \(table); CREATE VIEW \(table) AS
            WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 'a' AS name, 'b' AS value FROM c
            WHERE x < 0;
            """)
          try patch.close()
        })
      let killed = try run(device, step: step.rawValue)
      #expect(killed.ending == .signal(9), "\(killed)")
      #expect(!device.remains.isEmpty)
      // What an app does at its start; the folder belongs to one process at a time.
      do { #expect(try device.manager().installed().map(\.edition) == ["1"]) }
      let again = try run(device)
      #expect(again.status == 0, "\(again)")
      #expect(try device.edition("alps", of: [first, next]) == "2" && device.remains == [])
      #expect(store.book.withLock { $0.files.last?.isPatch } == false)
    }
  }

  /// The parent kills it after a number of sent bytes; the server's answers are cut as well.
  @Test(arguments: 0..<5 as Range<UInt64>)
  func atAnyByte(seed: UInt64) async throws { try await onThread { try killAnywhere(seed) } }

  private func killAnywhere(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let device = try Device(store)
    var kills = 0
    for round in 0..<4 {
      let child = Locked<Int32>(0)
      let place = Int.random(in: 0..<first.bytes, using: &random)
      let cuts = Bool.random(using: &random)
      store.fault.withLock {
        $0 = { request in
          if request.number % 2 == 0, cuts { return .cut(place / 2) }
          return .callback(place) {
            // The process id is known only after the start.
            _ = eventually { child.withLock { $0 } != 0 }
            child.withLock { _ = kill($0, 9) }
          }
        }
      }
      let process = try Command(built: "CatalogProbe").start([device.folder.path, store.address, "first", "alps"])
      child.withLock { $0 = Int32(process.processID) }
      let run: CommandRun = process.wait(timeout: 60)
      if run.ending == .signal(9) { kills += 1 }
      let edition = try device.edition("alps", of: [first])
      #expect(edition == nil || edition == "1", "seed \(seed), round \(round): \(run)")
    }
    store.fault.withLock { $0 = { _ in .none } }
    #expect(try run(device).status == 0)
    #expect(try device.folder.bytes("alps.mbtiles") == shop.folder.bytes(first.file))
    #expect(kills > 0, "seed \(seed)")
    #expect(device.remains == [])
  }

  /// After a file system repair the download folder may contain any files.
  @Test func unknownFilesInTheDownloadFolderAreRemoved() async throws { try await onThread { try sweep() } }

  private func sweep() throws {
    let device = try Device(store)
    #expect(try run(device).status == 0)
    try device.folder.write(".mapstore/77.part", "x")
    try device.folder.write(".mapstore/.3.new.999-0.partial", "x")
    #expect(try run(device).status == 0)
    #expect(device.remains == [])
  }
}
