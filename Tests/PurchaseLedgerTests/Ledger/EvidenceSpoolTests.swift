import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// The lines of the spool, and when they are written.
@Suite struct EvidenceSpoolTests {
  private func fact(_ id: String) -> StoreTransaction {
    StoreTransaction(
      store: .google, environment: .production, transactionID: id, originalTransactionID: id,
      productID: "region.alps", productType: .nonConsumable, purchaseDate: TestLedger.now, ownership: .purchased,
      signedDate: TestLedger.now, trust: .signed, statement: .purchased)
  }

  private func lines(_ test: TestLedger) -> [[UInt8]] {
    guard let bytes = try? test.folder.bytes("ledger.sqlite.spool") else { return [] }
    return bytes.split(separator: 0x0a).map { Array($0) }
  }

  /// Evidence comes back byte for byte, whatever it is.
  @Test(arguments: [
    Array("eyJh.b.c".utf8), Array(#"{"json": "{\"orderId\":\"GPA.1\"}"}"#.utf8),
    Array("{\n \"a\": \"\u{2028}é\u{7f}\"}\n".utf8),
    [0x30, 0x82, 0, 0xff, 0xfe], Array("a\tb\r\n".utf8), Array("\u{feff}{}".utf8),
  ])
  func evidenceComesBackByteForByte(_ bytes: [UInt8]) throws {
    let account = AccountID.random()
    let context = EvidenceContext(productID: "region.\"x\"", purchaseToken: "t", environment: .sandbox)
    let digest = EvidenceDigest(bytes)
    let line = SpoolLine.evidence(
      Array(bytes[digest.prefix.count...]), after: digest.prefix, sha256: digest.sha256, kind: .googlePurchase,
      context: context, account: account, isExplicit: false, channel: .app, at: 7)
    #expect(!line.contains(0x0a))
    let read = try #require(try EvidenceWrapper(line))
    #expect(read.evidence == bytes && read.account == account.description && !read.isExplicit)
    #expect(read.channel == .app && read.kind == .googlePurchase && read.context == context)
  }

  @Test func accountLinesComeBackAndDamagedOnesAreNamed() throws {
    let credential = SpoolLine.Credential(
      account: .random(), login: "ada\"@example.org", salt: [UInt8](repeating: 1, count: 16),
      hash: [UInt8](repeating: 2, count: 32), rounds: 16, blockSize: 8, parallelism: 1, changedAt: 9)
    for line in [
      SpoolLine.Account.opened(.random(), token: .random()), .erased(.random()), .credential(credential),
    ] {
      let bytes = SpoolLine.account(line, at: 5)
      #expect(try SpoolLine.account(bytes) == line)
      #expect(throws: VerificationError.self) { try SpoolLine.account(Array(bytes.dropLast(3))) }
    }
    var costly = credential
    costly.rounds = 1 << 40
    #expect(throws: VerificationError.self) { try SpoolLine.account(SpoolLine.account(.credential(costly), at: 5)) }
    #expect(try SpoolLine.account(Array(#"{"evidence": "x"}"#.utf8)) == nil)
  }

  /// Concurrent submissions share commits; each has its line, a duplicate has none.
  @Test func eachAcknowledgedSubmissionHasALine() async throws {
    let test = try TestLedger()
    let ledger = test.ledger
    let pieces = (0..<64).map { TestLedger.piece([fact("GPA.\($0)")], nil, nil, true, .app, Array("piece \($0)".utf8)) }
    for expected in [64, 64] {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for piece in pieces {
          group.addTask { _ = try await ledger.book(PreparedEvidence(piece.0, piece.1)) }
        }
        try await group.waitForAll()
      }
      #expect(lines(test).count == expected)
    }
    let read = try Set(
      lines(test).map { String(decoding: try #require(try EvidenceWrapper($0)).evidence, as: UTF8.self) })
    #expect(read == Set((0..<64).map { "piece \($0)" }))
  }

  /// Where the spool cannot be written nothing is recorded, and so nothing acknowledged.
  @Test func unwritableSpoolRecordsNothing() async throws {
    let test = try TestLedger()
    let spool = test.path + ".spool"
    try FileManager.default.createDirectory(atPath: spool, withIntermediateDirectories: false)
    let events = try test.count("SELECT count(*) FROM event")
    await #expect(throws: LedgerError.self) {
      let piece = TestLedger.piece([fact("GPA.1")])
      _ = try await test.ledger.book(PreparedEvidence(piece.0, piece.1))
    }
    #expect(throws: LedgerError.self) { try test.book(fact("GPA.1")) }
    #expect(try test.count("SELECT count(*) FROM event") == events)
    try FileManager.default.removeItem(atPath: spool)
    #expect(try test.book(fact("GPA.1")).outcome == .accepted)
    #expect(lines(test).count == 1)
  }

  /// The lines of a transaction that fails are removed.
  @Test func failedTransactionLeavesNoLine() throws {
    let test = try TestLedger()
    _ = try test.account()
    let before = try test.folder.bytes("ledger.sqlite.spool")
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try test.ledger.write { recorder in
        // More than the buffer, so that a part is written before the end.
        for _ in 0..<8000 { try recorder.append(.accountOpened(.random(), token: .random())) }
        throw Stop()
      }
    }
    #expect(try test.folder.bytes("ledger.sqlite.spool") == before)
  }

  /// A rotation moves the lines before the mark and keeps those after it; a second one adds to the same file.
  @Test func rotationLosesNoLine() throws {
    let test = try TestLedger()
    var all: [[UInt8]] = []
    for _ in 0..<2 {
      _ = try test.account()
      let mark = try test.ledger.spoolMark()
      _ = try test.account()
      all += lines(test).suffix(2)
      #expect(try test.ledger.rotateSpool(mark, to: test.folder.file("copy.spool")))
      #expect(lines(test).count == 1)
    }
    let moved = try test.folder.bytes("copy.spool").split(separator: 0x0a).map { Array($0) }
    #expect(moved + lines(test) == all && moved.count == 3)
    // An erasure writes the spool anew: a mark from before it does not hold.
    let account = try test.account()
    let mark = try test.ledger.spoolMark()
    try test.erase(account)
    #expect(try !test.ledger.rotateSpool(mark, to: test.folder.file("other.spool")))
  }
}
