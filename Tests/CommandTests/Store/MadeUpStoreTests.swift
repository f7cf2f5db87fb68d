import Foundation
import TestSupport
import Testing

/// `mapstore client buy` and what it asks of the store: nobody pays twice for what lasts.
@Suite(.ownThread) struct MadeUpStoreTests {
  /// The purchase's request, its answer, or the device's list of what is outstanding is lost, and the client is killed. Then the same is bought again.
  @Test(arguments: ["request", "answer", "queue"])
  func buyingAgainAfterAKillSellsOnce(lost: String) async throws {
    try await onThread { try Self.buyTwice(lost) }
  }

  private static func buyTwice(_ lost: String) throws {
    let story = try StoreStory(seed: 1, regions: 2, hasMadeUpStore: true)
    try story.open()
    try story.signUp("anna", "anna")
    story.network.lose(.init(request: "POST /v1/purchases ", isOfAnswer: lost == "answer"))
    let first = try story.start("anna", "buy", "r0", "--store-key", story.madeUpStore)
    let isLost = first.wait(timeout: 60) { story.network.losses > 0 }
    #expect(isLost, "\(first.stderr)")
    first.send(SIGKILL)
    _ = first.wait(timeout: 30) as CommandRun
    story.network.lose(nil)
    #expect(try story.queueCount("anna") == 1)
    if lost == "queue" { try FileManager.default.removeItem(atPath: story.folder.file("anna/.mapstore-queue.json")) }

    let second = try story.client("anna", "buy", "r0", "--store-key", story.madeUpStore)
    #expect(second.status == 0, "\(second)")
    #expect(try story.madeUpBook().count == 1)
    // Named twice is meant once.
    let third = try story.client("anna", "buy", "r0", "r1", "r1", "--store-key", story.madeUpStore)
    #expect(third.status == 0 && third.stderr.contains("r0: owned, not installed; nothing was bought"), "\(third)")
    #expect(try story.madeUpBook().count == 2)
    #expect(try story.queueCount("anna") == 0)

    let grants = try story.ledger("entitlements", "anna", "--json").stdoutLines
    #expect(grants.count == 2 && grants.allSatisfy { $0.contains("\"status\":\"active\"") }, "\(grants)")
    let reconciled = try story.ledger("reconcile", "--store", story.madeUpBookPath)
    #expect(reconciled.status == 0, "\(reconciled)")
    if lost != "queue" { return }
    // Given back is not owned, and may be bought again.
    #expect(try story.client("anna", "refund", "r0", "--store-key", story.madeUpStore).status == 0)
    let fourth = try story.client("anna", "buy", "r0", "--store-key", story.madeUpStore)
    #expect(try fourth.status == 0 && story.madeUpBook().count == 3, "\(fourth)")
  }
}
