import Hummingbird
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import Support
import TileIndex

/// The handlers of purchases and of the app stores' notifications.
extension StoreService {
  private static let transactionsMax = 500
  /// The queue of look-ups empties as the operator pulls them from the app store, which takes minutes.
  private static let queueRetrySeconds = 300

  /// Records the evidence that an app posts. Pieces share commits with each other and with other requests.
  func purchases(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let submission = try await request.message(PurchaseSubmission.self, bytesMax: options.limits.bodyBytes)
    guard (1...Self.transactionsMax).contains(submission.transactions.count) else {
      throw Problem.badRequest("transactions: are not 1 to \(Self.transactionsMax)")
    }
    try take(
      evidencesByAccount, account.description, count: submission.transactions.count,
      "too many transactions of this account", account: account)
    let pieces = try await prepared(submission, account, request)
    let results = try await withThrowingTaskGroup(of: (Int, PurchaseResult).self) { group in
      for (index, piece) in pieces.enumerated() { group.addTask { (index, try await self.book(piece)) } }
      var results = [PurchaseResult?](repeating: nil, count: pieces.count)
      for try await (index, result) in group { results[index] = result }
      return results.compactMap { $0 }
    }
    for result in results {
      metrics.count(result.outcome)
      guard result.outcome == .refused, auditsByAddress.take("purchase \(account)") == nil else { continue }
      try await ledger.recordAudit(
        kind: "purchase", account: account, subject: result.items.first?.transactionId, outcome: "refused",
        detail: result.reason)
    }
    @Sendable func reply() throws -> Response { try Reply.message(PurchaseResults(results: results)) }
    return results.count > Self.piecesOfTurn ? try await request.compute(reply) : try reply()
  }

  /// Verifies what was posted, some pieces at a turn: a restore has hundreds.
  private func prepared(
    _ submission: PurchaseSubmission, _ account: AccountID, _ request: StoreRequest
  ) async throws -> [PreparedEvidence] {
    var pieces: [PreparedEvidence] = []
    while pieces.count < submission.transactions.count {
      let batch = submission.transactions[pieces.count...].prefix(Self.piecesOfTurn)
      pieces += try await request.compute {
        var pieces: [PreparedEvidence] = []
        for evidence in batch {
          let piece = Submission(
            evidence: Array(evidence.utf8), account: account, isExplicit: submission.isRestore, channel: .app)
          pieces.append(try await self.ledger.prepare(piece, with: self.verifier))
        }
        return pieces
      }
    }
    return pieces
  }

  private static let piecesOfTurn = 16

  private func book(_ piece: PreparedEvidence) async throws -> PurchaseResult {
    let booking =
      if let confirmation = options.confirmation {
        try await ledger.book(piece, confirmedBy: confirmation)
      } else {
        try await ledger.book(piece)
      }
    let snapshot = catalog.snapshot
    return PurchaseResult(booking) { product in
      snapshot.indices(ofProduct: product).first.map { snapshot.regions[$0].id }
    }
  }

  func appleNotification(_ request: StoreRequest) async throws -> Response {
    try await notification(
      request, kinds: options.refusesAppleV1 ? [.notification] : [.notification, .notificationV1],
      bytesMax: options.limits.messageBytes)
  }

  /// Google does not sign notifications; the token of the push identifies the sender.
  func googleNotification(_ request: StoreRequest) async throws -> Response {
    guard sellsAtGoogle else { throw Problem.noAppAtGoogle }
    if let googlePush {
      let field = request.field(.authorization)
      try await request.compute { try googlePush.check(field, now: self.clock.now()) }
    }
    return try await notification(
      request, kinds: [.googleNotification], bytesMax: options.limits.smallBodyBytes, isVouchedFor: googlePush != nil)
  }

  /// Records a notification. It is answered after the commit: the app store repeats a notification without an answer.
  ///
  /// - Parameter isVouchedFor: whether the sender was authenticated apart from the message.
  private func notification(
    _ request: StoreRequest, kinds: Set<EvidenceKind>, bytesMax: Int, isVouchedFor: Bool = false
  ) async throws -> Response {
    let bytes = try await request.body(bytesMax: bytesMax)
    guard let kind = try await request.compute({ EvidenceVerifier.detect(bytes) }), kinds.contains(kind) else {
      throw Problem.badRequest("the body is no notification of this store")
    }
    // Anybody who knows the app's name can write these, and the ledger keeps them.
    if !isVouchedFor, [.notificationV1, .googleNotification].contains(kind) {
      guard bytes.count <= options.limits.smallBodyBytes else { throw Problem.tooLarge(options.limits.smallBodyBytes) }
      try take(unsignedMessages, "all", "too many messages without a signature")
    }
    let submission = Submission(
      evidence: bytes, channel: .storeNotification, origin: isVouchedFor ? "vouched for" : request.address)
    let piece = try await request.compute { try await self.ledger.prepare(submission, with: self.verifier) }
    // Nobody has vouched for a signature that this version cannot read.
    if piece.isUnreadable { try take(unreadableByAddress, request.address, "too many messages of an unknown form") }
    let booking = try await ledger.book(piece)
    if booking.outcome == .refused {
      let reason = booking.reason.map { "\($0.code.rawValue): \($0.message)" } ?? ""
      let detail = "the notification was refused: \(reason)"
      let remedy = booking.reason?.remedy
      let isQueueFull = booking.reason?.code == .queueFull
      throw Rejection(
        isQueueFull ? .unavailable(detail, remedy: remedy) : .badRequest(detail, remedy: remedy),
        retryAfter: isQueueFull ? Self.queueRetrySeconds : nil,
        subject: booking.reason?.code.rawValue)
    }
    return Reply.text("\(booking.outcome.rawValue)\n")
  }
}

extension PurchaseResult {
  /// The answer to the app, after the commit.
  ///
  /// - Parameter region: finds the region of a product, if there is one.
  init(_ booking: Booking, region: (String) -> String?) {
    let items = booking.transactions.enumerated().map { index, fact in
      PurchaseItem(
        fact, result: booking.results.count > index ? booking.results[index] : nil, of: booking, region: region)
    }
    let outcome: Outcome =
      switch booking.outcome {
      case .refused: .refused
      // It may be accepted if it is presented again.
      case .quarantined: .pending
      case .accepted, .duplicate:
        if !items.isEmpty, items.allSatisfy({ $0.entitlement == .pending }) {
          .pending
        } else {
          booking.outcome == .accepted ? .booked : .alreadyOwned
        }
      }
    self.init(
      outcome: outcome,
      // A transaction of another account is left to that account's app: finishing tells the app store that the buyer
      // has the product.
      shouldFinish: outcome == .booked || outcome == .alreadyOwned,
      reason: booking.reason?.code.rawValue, detail: booking.reason?.advice,
      environment: booking.environment?.rawValue.lowercased(), items: items)
  }
}

extension PurchaseItem {
  fileprivate init(
    _ fact: StoreTransaction, result: Booking.Result?, of booking: Booking, region: (String) -> String?
  ) {
    let entitlement = booking.entitlements.first {
      $0.grant.id == fact.originalTransactionID || $0.grant.id == fact.transactionID
    }
    let state: Entitlement
    if result?.outcome == .refused {
      state = .notYours
    } else {
      state =
        switch entitlement?.status {
        case .active?: .active
        case .pending?: .pending
        case .revoked?: .revoked
        case .held?, .expired?: .held
        case .withheld?: .withheld
        // The evidence was refused or quarantined as a whole.
        case nil: booking.outcome == .quarantined ? .pending : .notYours
        }
    }
    let product = fact.productID ?? entitlement?.productID ?? ""
    self.init(
      transactionId: fact.transactionID, productId: product, regionId: region(product), entitlement: state,
      reason: result?.reason?.code.rawValue ?? entitlement.flatMap { $0.reason.isEmpty ? nil : $0.reason })
  }
}
