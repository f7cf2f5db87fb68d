import Foundation
import TestSupport
import Testing

/// `mapstore client buy` and the fake store: a non-consumable product is paid once.
@Suite(.ownThread) struct FakeStoreTests {
  /// The purchase's request, its answer, or the device's list of outstanding transactions is lost, and the client is
  /// killed. Then the same is bought again.
  @Test func buyingAgainAfterAKillPaysOnce() async throws {
    try await onThread {
      let story = try StoreStory(seed: 1, regions: 4, hasFakeStore: true)
      try story.open()
      try story.signUp("anna", "anna")
      for (index, lost) in ["request", "answer", "queue"].enumerated() {
        try Self.buyTwice("r\(index)", lost, story)
        #expect(try story.fakeStoreSales().count == index + 1, "\(lost)")
      }
      // A region that is named twice is bought once.
      let both = try story.client("anna", "buy", "r0", "r3", "r3", "--store-key", story.fakeStoreKeys)
      #expect(both.status == 0 && both.stderr.contains("r0: owned, not installed; nothing was bought"), "\(both)")
      #expect(try story.fakeStoreSales().count == 4)
      let grants = try story.ledger("entitlements", "anna", "--json").stdoutLines
      #expect(grants.count == 4 && grants.allSatisfy { $0.contains("\"status\":\"active\"") }, "\(grants)")
      // A refunded region is not owned, and can be bought again.
      #expect(try story.client("anna", "refund", "r0", "--store-key", story.fakeStoreKeys).status == 0)
      let again = try story.client("anna", "buy", "r0", "--store-key", story.fakeStoreKeys)
      #expect(try again.status == 0 && story.fakeStoreSales().count == 5, "\(again)")
      let reconciled = try story.ledger(
        "reconcile", "--against", story.fakeStoreSalesPath, "--root-certificate", story.fakeStoreKeys + ".root.der")
      #expect(reconciled.status == 0, "\(reconciled)")
    }
  }

  private static func buyTwice(_ region: String, _ lost: String, _ story: StoreStory) throws {
    let before = story.network.losses
    story.network.lose(.init(request: "POST /v1/purchases ", isOfAnswer: lost == "answer"))
    let first = try story.start("anna", "buy", region, "--store-key", story.fakeStoreKeys)
    let isLost = first.wait(timeout: 60) { story.network.losses > before }
    #expect(isLost, "\(lost): \(first.stderr)")
    first.send(SIGKILL)
    _ = first.wait(timeout: 30) as CommandRun
    story.network.lose(nil)
    #expect(try story.queueCount("anna") == 1, "\(lost)")
    if lost == "queue" { try FileManager.default.removeItem(atPath: story.folder.file("anna/.mapstore-queue.json")) }
    let second = try story.client("anna", "buy", region, "--store-key", story.fakeStoreKeys)
    #expect(second.status == 0, "\(lost): \(second)")
    #expect(try story.queueCount("anna") == 0, "\(lost)")
  }
}
