import Accounts
import CryptoExtras
import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Evidence that was accepted before is not verified again, if its signature was verified and it is of the same kind.
@Suite(.ownThread) struct KnownBytesTests {
  static let now: Int64 = 1_790_000_000_000
  let folder: TemporaryFolder
  let ledger: Ledger
  let verifier: EvidenceVerifier
  let authority: EphemeralCA
  let stranger: EphemeralCA
  let mallory = AccountID(UUID())

  init() throws {
    folder = try TemporaryFolder()
    (authority, stranger) = (try EphemeralCA(), try EphemeralCA())
    verifier = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: "org.example.maps"))
    ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    try ledger.openAccounts([(mallory, AccountToken(UUID()))])
  }

  private func transaction(_ authority: EphemeralCA) throws -> String {
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: "700", originalTransactionID: "700",
      productID: "region.001", productType: .nonConsumable, purchaseDate: Self.now - 10_000, ownership: .purchased,
      signedDate: Self.now - 5000, trust: .signed, statement: .purchased)
    return String(decoding: try authority.transaction(fact, bundleID: "org.example.maps"), as: UTF8.self)
  }

  private func book(_ text: String, as kind: EvidenceKind?) async throws -> Booking {
    try await ledger.book(
      Submission(evidence: Array(text.utf8), kind: kind, account: mallory, channel: .operatorImport), with: verifier)
  }

  /// An unsigned message may contain a forged transaction. It stays a hint, however often it arrives.
  @Test func aHintIsNeverATransaction() async throws {
    let forged = try transaction(stranger)
    let hint =
      "{\"notification_type\":\"X\",\"bid\":\"org.example.maps\",\"environment\":\"Production\","
      + "\"signedTransactionInfo\":\"\(forged)\"}"
    for kind in [nil, EvidenceKind.notificationV1, .transaction, .notification, .renewal, .receipt, nil, .transaction] {
      _ = try await book(hint, as: kind)
    }
    #expect(try ledger.entitlements(of: mallory).isEmpty)
    #expect(try await book(hint, as: .transaction).outcome == .refused)
    #expect(try await book(forged, as: nil).outcome == .refused)
    #expect(try ledger.verify().isClean)
  }

  /// Verified evidence is recognised, and only as the kind as which it was verified.
  @Test func verifiedEvidenceIsRecognised() async throws {
    let genuine = try transaction(authority)
    #expect(try await book(genuine, as: nil).outcome == .accepted)
    #expect(try await book(genuine, as: nil).outcome == .duplicate)
    #expect(try await book(genuine, as: .transaction).outcome == .duplicate)
    #expect(try await book(genuine, as: .notification).outcome == .refused)
    #expect(try ledger.entitlements(of: mallory).map(\.status) == [.active])
    // Recognised without checking the signature: otherwise a verifier without roots would refuse it.
    let rootless = try EvidenceVerifier(identity: StoreIdentity(bundleID: "org.example.maps"))
    let piece = Submission(evidence: Array(genuine.utf8), account: mallory, channel: .operatorImport)
    #expect(try await ledger.book(piece, with: rootless).outcome == .duplicate)
  }

  private func imported(
    _ texts: [String], identity: StoreIdentity? = nil, describesBooked: Bool = true
  ) async throws -> [Booking] {
    try folder.write("evidence.jsonl", texts.joined(separator: "\n"))
    let identity =
      identity ?? StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: "org.example.maps")
    let importer = EvidenceImporter(
      into: ledger, verifier: verifier, identity: identity, clock: .fixed(Self.now),
      defaults: .init(describesBooked: describesBooked))
    var bookings: [Booking] = []
    try await importer.run([folder.file("evidence.jsonl")]) {
      bookings += $0.map(\.booking)
    } progress: { _ in
    }
    return bookings
  }

  /// Pulled evidence is stored, and nothing of it is recorded until it is imported.
  @Test func pulledEvidenceIsRecordedWhenImported() async throws {
    let genuine = try transaction(authority)
    let bytes = Array(genuine.utf8)
    let content = try await verifier.verify(bytes, at: Self.now)
    try Snapshot(of: ledger).store(SnapshotPage(evidence: [(bytes, content)], cursor: nil))
    // No event says that it was verified.
    #expect(try ledger.knownEvidence([EvidenceDigest(bytes).sha256]) == [nil])
    #expect(try await imported([genuine]).map(\.outcome) == [.accepted])
    #expect(
      try ledger.knownEvidence([EvidenceDigest(bytes).sha256]) == [KnownEvidence(kind: .transaction, isBooked: true)])
    // A later pull does not change its outcome.
    try Snapshot(of: ledger).store(SnapshotPage(evidence: [(bytes, content)], cursor: nil))
    let again = try await imported([genuine])
    #expect(again.map(\.outcome) == [.duplicate] && again[0].results.map(\.outcome) == [.duplicate])
    #expect(again[0].transactions.map(\.transactionID) == ["700"])
    // An account's claim by the same bytes is still recorded.
    let line = "{\"account\": \"\(mallory)\", \"evidence\": \"\(genuine)\"}"
    #expect(try await imported([line, line]).map(\.outcome) == [.accepted, .duplicate])
    #expect(try ledger.entitlements(of: mallory).map(\.status) == [.active])
    #expect(try ledger.verify().isClean)
  }

  /// Without `describesBooked` recorded evidence is recognised and not decoded; claims and missing options are still
  /// checked.
  @Test func recordedEvidenceNeedNotBeDecoded() async throws {
    let genuine = try transaction(authority)
    #expect(try await imported([genuine], describesBooked: false).map(\.outcome) == [.accepted])
    let again = try await imported([genuine], describesBooked: false)
    #expect(again.map(\.outcome) == [.duplicate] && again[0].kind == .transaction && again[0].store == .apple)
    #expect(again[0].transactions.isEmpty && again[0].results.isEmpty && again[0].reason == nil)
    // Evidence that differs in one byte is not recognised.
    let end = genuine.index(genuine.endIndex, offsetBy: -8)
    let other = genuine.replacingCharacters(in: end...end, with: genuine[end] == "A" ? "E" : "A")
    #expect(try await imported([other], describesBooked: false).map(\.outcome) == [.refused])
    let line = "{\"account\": \"\(mallory)\", \"evidence\": \"\(genuine)\"}"
    let claimed = try await imported([line, genuine], describesBooked: false)
    #expect(claimed.map(\.outcome) == [.accepted, .duplicate] && claimed[0].transactions.count == 1)
    #expect(try ledger.entitlements(of: mallory).map(\.status) == [.active])
    await #expect(throws: LedgerError.self) {
      try await imported(
        [genuine], identity: StoreIdentity(rootCertificates: [authority.rootCertificate]), describesBooked: false)
    }
    #expect(try ledger.verify().isClean)
  }

  /// Quarantined evidence is verified again from the ledger itself.
  @Test func quarantinedEvidenceCanBeVerifiedAgain() async throws {
    let genuine = try transaction(authority)
    let early = try Ledger.open(at: ledger.path, policy: nil, clock: .fixed(Self.now - 86_400_000))
    let identity = StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: "org.example.maps")
    try folder.write("one.jws", genuine)
    func run(_ ledger: Ledger, _ files: [String], _ now: Int64) async throws -> [Booking.Outcome] {
      var outcomes: [Booking.Outcome] = []
      let importer = EvidenceImporter(into: ledger, verifier: verifier, identity: identity, clock: .fixed(now))
      try await importer.run(files, quarantined: files.isEmpty) {
        outcomes += $0.map(\.booking.outcome)
      } progress: { _ in
      }
      return outcomes
    }
    #expect(try await run(early, [folder.file("one.jws")], Self.now - 86_400_000) == [.quarantined])
    #expect(try await run(early, [], Self.now - 86_400_000) == [.quarantined])
    #expect(try await run(ledger, [], Self.now) == [.accepted])
    #expect(try await run(ledger, [], Self.now).isEmpty && ledger.quarantined().isEmpty)
  }

  /// A row of evidence can be inserted by anybody who can write to the file, an event that names it only by breaking
  /// the chain.
  @Test(arguments: [1, 4]) func evidenceWithoutAnEventIsNotKnown(_ outcome: Int) async throws {
    let forged = try transaction(stranger)
    let genuine = try transaction(authority)
    for (id, text) in [(71, forged), (72, genuine)] {
      try ledger.database.write { db in
        let insert = try db.prepare(
          "INSERT INTO evidence (id, sha256, kind, outcome, received_at, bytes) VALUES (?, ?, 1, ?, 0, ?)")
        insert.bind(1, id)
        insert.bind(2, EvidenceDigest(Array(text.utf8)).sha256)
        insert.bind(3, outcome)
        insert.bind(4, Array(text.utf8))
        try insert.run()
      }
    }
    if outcome == 1 {
      let locations = try ledger.verify().findings.map(\.location)
      #expect(locations == ["evidence 71", "evidence 72"])
    }
    let verdicts = try await imported([forged, genuine], describesBooked: false).map(\.outcome)
    #expect(verdicts == [.refused, .accepted])
    // The store's genuine evidence is named by its event from now on.
    let locations = try ledger.verify().findings.map(\.location).filter { $0.hasPrefix("evidence ") }
    #expect(locations == (outcome == 1 ? ["evidence 71"] : []))
  }

  /// `verify` with root certificates checks every signature again.
  @Test func verifySignaturesChecksEverySignature() async throws {
    let genuine = try transaction(authority)
    let line = "{\"account\": \"\(mallory)\", \"evidence\": \"\(genuine)\"}"
    #expect(try await imported([line]).map(\.outcome) == [.accepted])
    func check(_ verifier: EvidenceVerifier) async throws -> VerifyReport {
      var report = try ledger.verify()
      #expect(report.isClean, "\(report.findings)")
      try await ledger.verifySignatures(with: verifier, into: &report)
      return report
    }
    let clean = try await check(verifier)
    #expect(clean.isClean && clean.signatures == 1, "\(clean.findings)")
    let others = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [stranger.rootCertificate], bundleID: "org.example.maps"))
    let refused = try await check(others)
    #expect(refused.findings.map(\.location) == ["evidence 1"], "\(refused.findings)")
    #expect(refused.findings.first?.message.contains("untrusted-chain") == true)

    // A correctly chained event that states something else than its evidence.
    let digest = EvidenceDigest(Array(genuine.utf8)).sha256
    let made = StoreTransaction(
      store: .apple, environment: .production, transactionID: "666", originalTransactionID: "666",
      productID: "region.002", productType: .nonConsumable, purchaseDate: Self.now, signedDate: Self.now,
      trust: .signed, statement: .purchased)
    let seq = try ledger.write { try $0.append(.transaction(made), evidence: digest) }
    // A row of the snapshot that states something else than its evidence.
    try Snapshot(of: ledger).store(
      SnapshotPage(
        evidence: [
          (
            Array(try transaction(stranger).utf8),
            VerifiedEvidence(kind: .transaction, store: .apple, environment: .production, transactions: [made])
          )
        ], cursor: nil))
    let found = try await check(verifier)
    #expect(
      found.findings.map(\.location) == ["event \(try #require(seq))", "evidence 2"], "\(found.findings)")
  }

  /// A decision repeats a fact, which its evidence must state.
  @Test func verifySignaturesChecksAmendments() async throws {
    let genuine = try transaction(authority)
    #expect(try await imported([genuine]).map(\.outcome) == [.accepted])
    let fact = try await verifier.verify(Array(genuine.utf8), at: Self.now).transactions[0]
    var made = fact
    (made.transactionID, made.originalTransactionID) = ("667", "667")
    let digest = EvidenceDigest(Array(genuine.utf8)).sha256
    let seqs = try ledger.write { recorder in
      [
        try recorder.append(.amendment(fact, revision: Revision(1, of: [.productID])), evidence: digest),
        try recorder.append(.amendment(made, revision: Revision(1, of: [.productID])), evidence: digest),
        try recorder.append(.amendment(made, revision: Revision(2, of: [.productID]))),
      ].compactMap(\.self)
    }
    var report = try ledger.verify()
    // There is nothing to decide in any of them.
    let locations = seqs.map { "event \($0)" }
    #expect(report.findings.map(\.location) == locations && seqs.count == 3, "\(report.findings)")
    try await ledger.verifySignatures(with: verifier, into: &report)
    #expect(report.findings.map(\.location) == locations + locations.dropFirst(), "\(report.findings)")
  }

  /// The context of an answer is in the event alone; everything else must follow from the bytes, signed or not.
  @Test func verifySignaturesDecodesUnsignedEvidence() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let verifier = try EvidenceVerifier(
      identity: StoreIdentity(
        rootCertificates: [authority.rootCertificate], bundleID: "org.example.maps",
        googlePublicKey: Array(key.publicKey.derRepresentation), packageName: "org.example.maps"))
    let receipt =
      #"{"status":0,"environment":"Production","receipt":{"bundle_id":"org.example.maps","receipt_type":"Production","#
      + #""request_date_ms":"1789999990000","in_app":[{"product_id":"region.003","transaction_id":"900","#
      + #""original_transaction_id":"900","purchase_date_ms":"1789000000000","quantity":"1"}]}}"#
    let hint = #"{"notification_type":"X","bid":"org.example.maps","environment":"Production"}"#
    let signed = try SignedPurchase.wrap(
      #"{"packageName":"org.example.maps","productId":"region.004","orderId":"GPA.4","#
        + #""purchaseTime":1789000000000,"purchaseState":0,"purchaseToken":"t4"}"#, key)
    let beside = EvidenceContext(productID: "region.005", purchaseToken: "t5")
    let pieces: [(EvidenceKind, String, EvidenceContext)] = [
      (.verifyReceipt, receipt, .init()), (.notificationV1, hint, .init()),
      (.googlePurchase, signed, .init(environment: .sandbox)),
      (.googleProduct, #"{"purchaseTimeMillis":"1789000000000","purchaseState":0,"orderId":"GPA.5"}"#, beside),
      (.googleProduct, #"{"purchaseTimeMillis":"1789000000000","purchaseState":9}"#, beside),
      (
        .googleVoided, #"{"voidedPurchases":[{"orderId":"GPA.6","voidedTimeMillis":"1789000000000"}]}"#,
        .init(environment: .production)
      ),
    ]
    for (kind, text, context) in pieces {
      let piece = Submission(evidence: Array(text.utf8), kind: kind, context: context, channel: .operatorImport)
      #expect(try await ledger.book(piece, with: verifier).outcome == .accepted, "\(kind)")
    }
    func check() async throws -> VerifyReport {
      var report = try ledger.verify()
      #expect(report.isClean, "\(report.findings)")
      try await ledger.verifySignatures(with: verifier, into: &report)
      return report
    }
    let clean = try await check()
    #expect(clean.isClean && clean.unsigned == 3 && clean.signatures == 1, "\(clean.findings)")

    // Each kind of evidence is named by a fact that it does not state.
    var seqs: [Int64] = []
    for (number, (kind, text, _)) in pieces.enumerated() {
      let fact = StoreTransaction(
        store: kind.store, environment: .production, transactionID: "66\(number)",
        originalTransactionID: "66\(number)", productID: "region.002", productType: .nonConsumable,
        purchaseDate: Self.now, purchaseToken: "t", signedDate: Self.now, trust: kind.isSigned ? .signed : .unsigned,
        statement: .purchased)
      let digest = EvidenceDigest(Array(text.utf8)).sha256
      seqs.append(try #require(try ledger.write { try $0.append(.transaction(fact), evidence: digest) }))
    }
    let found = try await check()
    #expect(found.findings.map(\.location) == seqs.map { "event \($0)" }, "\(found.findings)")
  }

  /// The shared secret of a version 1 notification is nowhere in the file.
  @Test(arguments: ["password", "Password", "PASSWORD"])
  func theSharedSecretIsNotStored(_ name: String) async throws {
    let secret = "0123456789abcdef0123456789abcdef"
    let hint =
      "{\"notification_type\":\"CANCEL\",\"\(name)\": \"\(secret)\",\"bid\":\"org.example.maps\","
      + "\"environment\":\"Production\"}"
    #expect(try await book(hint, as: nil).outcome == .accepted)
    #expect(try await book(hint, as: nil).outcome == .duplicate)
    let kept = try ledger.readStatement { try $0.cached("SELECT bytes FROM evidence").all { $0.blob(0) } }
    #expect(
      kept.count == 1
        && String(decoding: kept[0], as: UTF8.self) == hint.replacing(secret, with: String(repeating: "*", count: 32)))
    #expect(try ledger.verify().isClean)
  }

  @Test func aNestedSharedSecretIsNotStored() async throws {
    let secret = "0123456789abcdef0123456789abcdef"
    let hint = """
      {"notification_type":"CANCEL","bid":"org.example.maps","environment":"Production","unified_receipt":{"status":0,
      "latest_receipt_info":[],"pending":[[1,{"password":"\(secret)"}]],"pass\\u0077ord":"\(secret)"},"password":5}
      """
    #expect(try await book(hint, as: nil).outcome == .accepted)
    let kept = try ledger.readStatement { try $0.cached("SELECT bytes FROM evidence").all { $0.blob(0) } }
    #expect(
      kept.map { String(decoding: $0, as: UTF8.self) }
        == [
          hint.replacing(secret, with: String(repeating: "*", count: 32)).replacing(
            "\"password\":5", with: "\"password\":0")
        ])
  }

  /// What is no text may have the secret in it, too.
  @Test(arguments: [
    "[\"0123456789abcdef\"]", "{\"is\":\"0123456789abcdef\"}", "[[ \"0123456789abcdef\", 1 ]]", "123456789",
  ])
  func aSharedSecretOfAnyTypeIsNotStored(_ value: String) async throws {
    let hint =
      "{\"notification_type\":\"CANCEL\",\"password\":\(value),\"bid\":\"org.example.maps\","
      + "\"environment\":\"Production\"}"
    #expect(try await book(hint, as: nil).outcome == .accepted)
    let kept = try ledger.readStatement { try $0.cached("SELECT bytes FROM evidence").all { $0.blob(0) } }
    let masked = "\"" + String(repeating: "*", count: value.utf8.count - 2) + "\""
    #expect(kept.map { String(decoding: $0, as: UTF8.self) } == [hint.replacing(value, with: masked)])
  }
}
