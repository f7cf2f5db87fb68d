import Foundation
import MapStoreClient
import TestSupport
import Testing
import TileIndex

/// One story with real processes: purchases, cuts, kills of client and server, refunds, a reset phone, a second phone, a new edition. At the end every owned region is installed byte for byte,
/// nothing was granted twice, and the books agree.
@Suite(.ownThread) struct StoreStoryTests {
  private static let isLong = ProcessInfo.processInfo.environment["MAPSTORE_LONG"] != nil

  @Test(arguments: [1] as [UInt64])
  func everybodyHasWhatTheyPaidFor(seed: UInt64) async throws {
    try await onThread { try Self.tell(seed: seed) }
  }

  private static func tell(seed: UInt64) throws {
    let (regionCount, purchaseCount, disturbances) = isLong ? (12, 200, 30) : (5, 40, 4)
    let story = try StoreStory(seed: seed, regions: regionCount)
    try story.open()
    let people = ["anna", "bert"]
    for name in people { try story.signUp(name, name) }

    // 1. Purchases: everybody buys most regions, and the store restores them again and again under new transactions.
    var originals: [String: [String: String]] = [:]
    var queues: [String: [OutstandingTransaction]] = [:]
    let ids = story.shop.catalogue.regions.map(\.id)
    for name in people {
      let token = try story.appAccountToken(name)
      for id in ids.shuffled(using: &story.random).dropFirst(name == "anna" ? 0 : 1) {
        let bought = try story.sell("region.\(id)", to: token)
        originals[name, default: [:]][id] = bought.id
        queues[name, default: []].append(bought)
      }
    }
    while story.sold.count < purchaseCount {
      let name = people.randomElement(using: &story.random)!
      let (id, original) = originals[name]!.sorted { $0.key < $1.key }.randomElement(using: &story.random)!
      let token = try story.appAccountToken(name)
      queues[name]!.append(try story.sell("region.\(id)", to: token, restoring: original))
    }
    for name in people { try story.setQueue(name, queues[name]!.shuffled(using: &story.random)) }

    // 2. Syncs that are cut off at any moment, on either side; then one that is not.
    for _ in 0..<disturbances {
      for name in people { try story.disturbedSync(name) }
    }
    for name in people {
      let run = try story.sync(name)
      #expect(run.status == 0, "seed \(seed): \(run)")
      #expect(try story.installed(name) == Set(originals[name]!.keys), "seed \(seed)")
      #expect(try story.queueCount(name) == 0, "seed \(seed)")
    }
    #expect(story.clientKills + story.serverKills > 0, "seed \(seed): nothing was disturbed")

    // 3. Refunds, told twice each, with the server's death between.
    let refunded = originals["anna"]!.keys.sorted()[0]
    try story.refund(original: originals["anna"]![refunded]!)
    try story.crashServer()
    let listed = try story.client("anna", "library")
    #expect(listed.stdoutLines.contains { $0.hasPrefix(refunded) && $0.contains("revoked") }, "\(listed)")
    #expect(listed.stdoutLines.count { $0.contains(" installed") } == ids.count - 1, "\(listed)")

    // 4. A reset phone, and a second one: only the account remembers.
    try FileManager.default.removeItem(atPath: story.folder.file("bert"))
    for (device, name) in [("bert", "bert"), ("anna-two", "anna")] {
      try story.signIn(device, name)
      try story.disturbedSync(device)
      let run = try story.sync(device)
      #expect(run.status == 0, "seed \(seed): \(run)")
      let owned = Set(originals[name]!.keys).subtracting(name == "anna" ? [refunded] : [])
      #expect(try story.installed(device) == owned, "seed \(seed): \(device)")
    }

    // 5. A new edition of some regions, by patch where there is one.
    let renewed = Array(ids.filter { $0 != refunded }.prefix(3))
    for id in renewed { try story.shop.publish(id) }
    try story.shop.writeCatalogue()
    for (device, name) in [("bert", "bert"), ("anna-two", "anna")] {
      let isKnown = try eventually(seconds: 30) {
        try story.client(device, "library").stdout.contains("update available")
      }
      #expect(isKnown)
      let library = try story.client(device, "library").stdoutLines.filter { $0.contains("update available") }
      #expect(library.allSatisfy { $0.contains("patch of") }, "\(library)")
      try story.disturbedSync(device)
      let run = try story.sync(device)
      #expect(run.status == 0, "seed \(seed): \(run)")
      let owned = Set(originals[name]!.keys).subtracting(name == "anna" ? [refunded] : [])
      #expect(try story.installed(device) == owned, "seed \(seed): \(device)")
    }

    // 6. The books.
    for name in people {
      let lines = try story.ledger("entitlements", name, "--json").stdoutLines
      let active = lines.filter { $0.contains("\"status\":\"active\"") }
      let owned = Set(originals[name]!.keys).subtracting(name == "anna" ? [refunded] : [])
      #expect(active.count == owned.count, "seed \(seed): \(lines)")
      for id in owned { #expect(active.count { $0.contains("\"region.\(id)\"") } == 1, "seed \(seed): \(id)") }
    }
    let verified = try story.ledger("verify")
    #expect(verified.status == 0, "\(verified)")
    let reconciled = try story.ledger("reconcile", "--store", try story.writeStoresBook())
    #expect(reconciled.status == 0, "\(reconciled)")
    #expect(try story.close()?.status == 0)
    if isLong {
      print(
        "story: \(ids.count) regions, \(story.sold.count) purchases, \(story.clientKills) kills of clients, \(story.serverKills) of servers"
      )
    }
  }
}
