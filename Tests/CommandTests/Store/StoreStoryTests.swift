import Foundation
import MapStoreClient
import RegionCatalog
import TestSupport
import Testing
import TileIndex

/// One story with real processes: two accounts, twelve regions, 200 purchases; connections cut at random bytes, kills
/// of client and server during downloads, refunds, a reset phone, a second and a
/// third phone, a new edition. At the end every owned region is installed byte for byte, no byte was downloaded twice,
/// nothing was granted twice, and ledger and store agree.
@Suite(.ownThread) struct StoreStoryTests {
  private static let isLong = TestEffort.isFull

  @Test(arguments: [1] as [UInt64])
  func afterKillsAndLostConnectionsEveryDeviceHasWhatWasBought(seed: UInt64) async throws {
    try await onThread { try Self.tell(seed: seed) }
  }

  private static func tell(seed: UInt64) throws {
    let (regionCount, purchaseCount, disturbances) = (12, 200, isLong ? 15 : 2)
    let story = try StoreStory(seed: seed, regions: regionCount)
    try story.open()
    let people = ["anna", "bert"]
    for name in people { try story.signUp(name, name) }

    // 1. Purchases: everybody buys most regions, and the store restores them under many new transactions.
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

    // 2. Syncs that are cut off at any byte and killed during downloads: anna's client, bert's server. Then an
    // undisturbed sync of each.
    for _ in 0..<disturbances {
      try story.disturbedSync("anna", killing: .client)
      try story.disturbedSync("bert", killing: .server)
    }
    #expect(story.clientKills > 0 && story.serverKills == disturbances, "seed \(seed)")
    #expect(story.network.cuts > 0, "seed \(seed): nothing was cut off")
    let parts = story.partBytes("anna")
    let missing = try Set(originals["anna"]!.keys).subtracting(story.installed("anna") ?? [])
    let before = try story.sentBytes()
    for name in people {
      let run = try story.sync(name)
      #expect(run.status == 0, "seed \(seed): \(run)")
      if name == "anna" {
        // Bytes from before the kill are not downloaded again, except those that were not recorded on the disk yet.
        let most =
          missing.reduce(0) { $0 + story.shop.region($1)!.bytes } - parts.values.reduce(0, +)
          + parts.count * (StoreStory.pieceBytes + 65_536)
        #expect(try story.sentBytes() - before <= most, "seed \(seed): \(parts), missing \(missing)")
      }
      #expect(try story.installed(name) == Set(originals[name]!.keys), "seed \(seed)")
      #expect(try story.queueCount(name) == 0, "seed \(seed)")
    }

    // 3. Refunds, each notified twice, with a crash of the server between.
    let refunded = originals["anna"]!.keys.sorted()[0]
    try story.refund(original: originals["anna"]![refunded]!)
    try story.crashServer()
    let listed = try story.client("anna", "library")
    #expect(listed.stdoutLines.contains { $0.hasPrefix(refunded) && $0.contains("revoked") }, "\(listed)")
    #expect(listed.stdoutLines.count { $0.contains(" installed") } == ids.count - 1, "\(listed)")

    // 4. A reset phone and two more, which sync at once: only the account knows what is owned.
    try FileManager.default.removeItem(atPath: story.folder.file("bert"))
    func owned(_ name: String) -> Set<String> {
      Set(originals[name]!.keys).subtracting(name == "anna" ? [refunded] : [])
    }
    try story.signIn("bert", "bert")
    try story.disturbedSync("bert", killing: .client)
    for device in ["anna-two", "anna-three"] { try story.signIn(device, "anna") }
    for run in try story.sync(together: ["anna-two", "anna-three", "bert"]) {
      #expect(run.status == 0, "seed \(seed): \(run)")
    }
    for (device, name) in [("bert", "bert"), ("anna-two", "anna"), ("anna-three", "anna")] {
      #expect(try story.installed(device) == owned(name), "seed \(seed): \(device)")
    }

    // 5. A new edition of some regions comes as patches only.
    let renewed = Array(ids.filter { $0 != refunded && owned("bert").contains($0) }.prefix(3))
    for id in renewed { try story.shop.publish(id) }
    try story.shop.writeCatalogue()
    for (device, name) in [("bert", "bert"), ("anna-two", "anna")] {
      let isKnown = try eventually(seconds: 30) {
        try story.client(device, "library").stdout.contains("update available")
      }
      #expect(isKnown)
      let library = try story.client(device, "library").stdoutLines.filter { $0.contains("update available") }
      #expect(library.count == renewed.count && library.allSatisfy { $0.contains("patch of") }, "\(library)")
      if device == "anna-two" { try story.disturbedSync(device, killing: .client) }
      let before = try story.sentBytes()
      let run = try story.sync(device)
      #expect(run.status == 0, "seed \(seed): \(run)")
      #expect(try story.installed(device) == owned(name), "seed \(seed): \(device)")
      if device == "bert" {
        let patches = renewed.reduce(0) { $0 + story.shop.region($1)!.patches[0].bytes }
        #expect(try story.sentBytes() - before == patches, "seed \(seed)")
      }
    }

    // 6. The ledger and the store's records.
    for name in people {
      let lines = try story.ledger("entitlements", name, "--json").stdoutLines
      let active = lines.filter { $0.contains("\"status\":\"active\"") }
      #expect(active.count == owned(name).count, "seed \(seed): \(lines)")
      for id in owned(name) { #expect(active.count { $0.contains("\"region.\(id)\"") } == 1, "seed \(seed): \(id)") }
    }
    let verified = try story.ledger("verify")
    #expect(verified.status == 0, "\(verified)")
    let reconciled = try story.ledger("reconcile", "--against", try story.writeStoresBook())
    #expect(reconciled.status == 0, "\(reconciled)")
    #expect(try story.close()?.status == 0)
    #expect(story.killsWithinFiles > 0, "seed \(seed): no file was under way when a client was killed")
    if isLong {
      print(
        """
        story: \(ids.count) regions, \(story.sold.count) purchases, \(story.clientKills) kills of clients, \
        \(story.serverKills) of servers, \(story.network.cuts) cuts
        """
      )
    }
  }
}
