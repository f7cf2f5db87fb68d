import Foundation
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing

/// `kill -9` at random instants. LONG_TESTS=full makes it 200 rounds.
@Suite(.ownThread, .long) struct LedgerCrashTests {
  static let rounds = TestEffort.isFull ? 200 : 10

  /// The journal without its head: the order of events may differ, the sums may not.
  private func journal(_ shop: LedgerShop) throws -> [Substring] {
    try shop.run("export", "--format", "hledger").stdoutLines.filter { !$0.hasPrefix("; head") }
  }

  private func grants(_ shop: LedgerShop) throws -> [String] {
    let ledger = try Ledger.open(at: shop.ledgerPath, policy: nil, clock: .fixed(ShopGenerator.end))
    return try shop.shop.accounts.flatMap { account in
      try ledger.entitlements(of: account.id).map { "\(account.id) \($0.grant.id) \($0.status) \($0.reason)" }
    }.sorted()
  }

  private func removeLedger(_ shop: LedgerShop) throws {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: shop.ledgerPath + suffix) }
  }

  private func expectClean(_ shop: LedgerShop, _ when: Comment) throws {
    let verified = try shop.run("verify")
    #expect(verified.status == 0, "\(when): \(verified)")
  }

  /// Kills the process after a random part of the time that it takes; returns what it printed until then.
  private func killed(_ child: ChildProcess, within seconds: Double, _ random: inout SeededGenerator) -> CommandRun {
    usleep(UInt32(Double.random(in: 0...seconds, using: &random) * 1e6))
    child.send(SIGKILL)
    return child.wait()
  }

  /// The ids of transactions that a report's CSV lines mark as recorded.
  private static func applied(_ lines: [Substring]) -> [Substring] {
    var ids: [Substring] = []
    for line in lines {
      let fields = line.split(separator: ",", omittingEmptySubsequences: false)
      if fields.count > 9, fields[9] == "true" { ids.append(fields[3]) }
    }
    return ids
  }

  @Test func killedImportsLoseNothingCommittedAndGrantNothingTwice() throws {
    let shop = try LedgerShop(buyers: 30, seed: 11)
    let evidence = shop.folder.file("evidence.jsonl")
    let store = shop.folder.file("store.jsonl")
    try shop.makeLedger()
    let whole = try shop.run("import", evidence, "--batch", "16")
    let applied = try shop.run("reconcile", "--apply", "--against", store)
    let (expectedJournal, expectedGrants) = (try journal(shop), try grants(shop))
    #expect(expectedGrants.count > 30)

    var random = SeededGenerator(seed: 19)
    for round in 0..<Self.rounds {
      try removeLedger(shop)
      try shop.makeLedger()
      let run = killed(
        try shop.start("import", evidence, "--batch", "16", "--report", "json"), within: whole.seconds, &random)
      try expectClean(shop, "round \(round), import")
      // Only complete lines count: a kill may cut one off.
      let acknowledged = run.stdout.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        .filter { $0.contains("\"outcome\":\"accepted\"") }
      let again = try shop.run("import", evidence, "--batch", "16", "--report", "json").stdoutLines
      for line in acknowledged {
        let number = try #require(line.firstMatch(of: /"line":(\d+)/).flatMap { Int($0.1) })
        let other = try #require(again.dropFirst(number - 1).first, "round \(round): the import ended early")
        #expect(other.contains("\"outcome\":\"duplicate\""), "round \(round): lost \(line)")
      }
      let reconciled = killed(
        try shop.start("reconcile", "--apply", "--against", store, "--report", "csv"), within: applied.seconds, &random)
      try expectClean(shop, "round \(round), reconcile")
      // What was printed as recorded is recorded: the next run finds no difference there.
      // Here, too, only complete lines count.
      let printed = reconciled.stdout.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      let booked = Self.applied(Array(printed))
      let rest = Self.applied(
        try shop.run("reconcile", "--apply", "--against", store, "--report", "csv").stdoutLines)
      #expect(Set(booked).isDisjoint(with: rest), "round \(round): booked twice")
      try expectClean(shop, "round \(round), the end")
      #expect(try journal(shop) == expectedJournal, "round \(round)")
      #expect(try grants(shop) == expectedGrants, "round \(round)")
    }
  }
}
