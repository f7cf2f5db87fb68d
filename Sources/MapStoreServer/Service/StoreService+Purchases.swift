import Hummingbird
import MapStoreWire
import PurchaseLedger
import Support
import TileIndex

extension StoreService {
  private static let transactionsMax = 500

  func library(_ request: StoreRequest) throws -> Response {
    try library(try LibraryEntry.installed(request.query["installed"]), for: request)
  }

  /// The same for a device that has more regions than an address has room for.
  func libraryOfDevice(_ request: StoreRequest) async throws -> Response {
    let message = try await request.message(InstalledRegions.self, bytesMax: options.limits.bodyBytes)
    return try library(try LibraryEntry.installed(message), for: request)
  }

  private func library(_ installed: [String: String], for request: StoreRequest) throws -> Response {
    let account = try request.account()
    let view = shelf.view
    let question = LibraryQuestion(try ledger.entitlements(of: account), installed: installed, in: view)
    let body = view.libraries.body(for: question) { view.libraryText.document(LibraryEntry.all(of: view, question)) }
    return Reply.shared(
      body, type: "application/json", etag: "\(view.etag)-l\(body.tag)", caching: "private, no-cache", for: request)
  }

  /// Books what an app posts. Pieces share commits with each other and with other requests.
  func purchases(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let submission = try await request.message(PurchaseSubmission.self, bytesMax: options.limits.bodyBytes)
    guard (1...Self.transactionsMax).contains(submission.transactions.count) else {
      throw Problem.badRequest("transactions: are not 1 to \(Self.transactionsMax)")
    }
    try take(
      evidencesByAccount, account.description, count: submission.transactions.count,
      "too many transactions of this account", account: account)
    let results = try await withThrowingTaskGroup(of: (Int, PurchaseResult).self) { group in
      for (index, evidence) in submission.transactions.enumerated() {
        // Away from the connection's event loop: signatures take their time, and a restore has hundreds.
        group.addTask(executorPreference: globalConcurrentExecutor) {
          (index, try await self.book(Array(evidence.utf8), account: account, isExplicit: submission.isRestore))
        }
      }
      var results = [PurchaseResult?](repeating: nil, count: submission.transactions.count)
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
    return try Reply.message(PurchaseResults(results: results))
  }

  private func book(_ evidence: [UInt8], account: AccountID, isExplicit: Bool) async throws -> PurchaseResult {
    let booking = try await ledger.book(
      Submission(evidence: evidence, account: account, isExplicit: isExplicit, channel: .app), with: verifier)
    let view = shelf.view
    return PurchaseResult(booking) { product in view.index(ofProduct: product).map { view.regions[$0].id } }
  }

  func appleNotification(_ request: StoreRequest) async throws -> Response {
    try await notification(
      request, kinds: options.refusesAppleV1 ? [.notification] : [.notification, .notificationV1],
      bytesMax: options.limits.messageBytes)
  }

  /// Google signs no notification; who pushes it can be known by the token that comes along.
  func googleNotification(_ request: StoreRequest) async throws -> Response {
    guard sellsAtGoogle else { throw Problem.noAppAtGoogle }
    try googlePush?.check(request.field(.authorization), now: clock.now())
    return try await notification(
      request, kinds: [.googleNotification], bytesMax: options.limits.smallBodyBytes, isVouchedFor: googlePush != nil)
  }

  /// Takes a message of a store. It is answered after the commit only: a message that was not answered comes again.
  ///
  /// - Parameter isVouchedFor: whether its sender is known in spite of the message.
  private func notification(
    _ request: StoreRequest, kinds: Set<EvidenceKind>, bytesMax: Int, isVouchedFor: Bool = false
  ) async throws -> Response {
    let bytes = try await request.body(bytesMax: bytesMax)
    guard let kind = EvidenceVerifier.detect(bytes), kinds.contains(kind) else {
      throw Problem.badRequest("the body is no notification of this store")
    }
    // Whoever knows the app's name can write these, and they are kept.
    if !isVouchedFor, [.notificationV1, .googleNotification].contains(kind) {
      guard bytes.count <= options.limits.smallBodyBytes else { throw Problem.tooLarge(options.limits.smallBodyBytes) }
      try take(unsignedMessages, "all", "too many messages without a signature")
    }
    let booking = try await ledger.book(
      Submission(
        evidence: bytes, channel: .storeNotification, origin: isVouchedFor ? "vouched for" : request.address),
      with: verifier)
    if booking.outcome == .refused {
      throw Rejection(
        .badRequest("the notification was refused: \(booking.reason?.description ?? "")"),
        subject: booking.reason?.code.rawValue)
    }
    return Reply.text("\(booking.outcome.rawValue)\n")
  }
}
