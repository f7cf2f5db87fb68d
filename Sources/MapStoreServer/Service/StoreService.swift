import Dispatch
import HTTPTypes
import Hummingbird
import Logging
import MapStoreWire
import PurchaseLedger
import Support
import Synchronization
import TileIndex

/// What the store answers with: the one place that joins the shelf, the ledger and the files.
final class StoreService: Sendable {
  let options: StoreOptions
  let shelf: StoreShelf
  let ledger: Ledger
  let verifier: EvidenceVerifier
  let clock: LedgerClock
  let linkKeys: LinkKeys
  let grants: GrantSigner
  let googlePush: GooglePush?
  let logger: Logger
  let metrics = StoreMetrics()
  let transfers: Seats<AccountID>
  let linkUses: LinkUses
  let devices: DeviceTokens
  let bodies: BodyBudget
  let libraries: WebLibrary
  let passwordsByAddress: RateLimiter
  let passwordsByLogin: RateLimiter
  /// Apart from those of strangers, who can fill a limiter's table.
  let passwordsByDevice: RateLimiter
  let passwordsByAccount: RateLimiter
  let passwordsByLoginEverywhere: RateLimiter
  /// Searches that wait or are answered.
  let searchesByAddress: Seats<String>
  let searches: Seats<Everybody>
  let searchQueue = DispatchQueue(label: "map-store.searches")
  private let shelfQueue = DispatchQueue(label: "map-store.shelf-watch")
  private let ledgerQueue = DispatchQueue(label: "map-store.ledger-watch")
  let requestsByAddress: RateLimiter
  let requestsByAccount: RateLimiter
  let linksByAccount: RateLimiter
  let auditsByAddress: RateLimiter
  let auditsOfStrangers: RateLimiter
  let evidencesByAccount: RateLimiter
  let unsignedMessages: RateLimiter
  /// Whether Google's messages can be about anything here.
  let sellsAtGoogle: Bool
  /// Whether somebody was erased while others read: the ledger's log is to be emptied as soon as they do not.
  let mustEmptyLog = Mutex(false)
  /// Why the ledger cannot be used now, as it was found the last time.
  let ledgerFailure = Mutex<String?>(nil)
  /// Whether the process ends as soon as what has begun is answered.
  let isEnding = Mutex(false)

  /// - Throws: ``StoreError`` or `BundleError` that names the file.
  init(
    _ options: StoreOptions, ledger: Ledger, verifier: EvidenceVerifier, sellsAtGoogle: Bool, clock: LedgerClock,
    logger: Logger
  ) throws {
    self.options = options
    self.ledger = ledger
    self.verifier = verifier
    self.sellsAtGoogle = sellsAtGoogle
    self.clock = clock
    self.logger = logger
    searchesByAddress = Seats(max: options.limits.searchesByAddress)
    searches = Seats(max: options.limits.searches)
    linkKeys = try LinkKeys(files: options.linkKeys)
    linkUses = try LinkUses(path: LinkUses.path(of: ledger))
    shelf = try StoreShelf(folder: options.shelf, products: options.products, logger: logger, memory: linkUses)
    devices = DeviceTokens(secret: linkUses.secret)
    bodies = BodyBudget(options.limits)
    transfers = Seats(max: options.limits.transfersByAccount)
    grants = try GrantSigner(files: options.grantKeys)
    googlePush = try options.googlePush.map { try GooglePush($0, logger: logger) }
    libraries = WebLibrary(folders: options.webFolders)
    passwordsByAddress = RateLimiter(options.limits.passwordsByAddress)
    passwordsByLogin = RateLimiter(options.limits.passwordsByLogin)
    passwordsByDevice = RateLimiter(options.limits.passwordsByLogin)
    passwordsByAccount = RateLimiter(options.limits.passwordsByLogin)
    passwordsByLoginEverywhere = RateLimiter(options.limits.passwordsByLoginEverywhere)
    requestsByAddress = RateLimiter(options.limits.requestsByAddress)
    requestsByAccount = RateLimiter(options.limits.requestsByAccount)
    linksByAccount = RateLimiter(options.limits.linksByAccount)
    auditsByAddress = RateLimiter(options.limits.auditsByAddress)
    auditsOfStrangers = RateLimiter(options.limits.auditsOfStrangers)
    evidencesByAccount = RateLimiter(options.limits.evidencesByAccount)
    unsignedMessages = RateLimiter(options.limits.unsignedMessages)
  }

  /// Answers a request whose route was found.
  func answer(_ request: StoreRequest) async throws -> Response {
    switch request.route {
    case .catalogue: try await catalogue(request)
    case .region: try region(request)
    case .preview: try preview(request)
    case .parcels: try parcels(request)
    case .register: try await register(request)
    case .signIn: try await signIn(request)
    case .signOut: try await signOut(request)
    case .signOutEverywhere: try await signOutEverywhere(request)
    case .account: try account(request)
    case .changePassword: try await changePassword(request)
    case .eraseAccount: try await eraseAccount(request)
    case .library: try library(request)
    case .libraryOfDevice: try await libraryOfDevice(request)
    case .purchases: try await purchases(request)
    case .downloads: try await downloads(request)
    case .file: try await file(request)
    case .grants: try await grants(request)
    case .grantKeys: try Reply.message(grants.published, caching: "public, max-age=300")
    case .appleNotifications: try await appleNotification(request)
    case .googleNotifications: try await googleNotification(request)
    case .home, .cataloguePage: try await cataloguePage(request)
    case .asset: try asset(request)
    case .health: Reply.text("ok\n")
    case .ready: try ready()
    case .metrics: metricsDocument()
    default: throw Problem.notFound
    }
  }

  /// Looks after the shelf, after what an erasure has left, and after the ledger, until the task is cancelled.
  func watch() async {
    // By a timer on a queue of its own: neither tasks that are busy nor work that blocks elsewhere delays it.
    let timer = DispatchSource.makeTimerSource(queue: ledgerQueue)
    timer.setEventHandler { [weak self] in self?.lookAtLedger() }
    timer.schedule(deadline: .now() + .milliseconds(500), repeating: .milliseconds(500))
    timer.activate()
    defer { timer.cancel() }
    while !Task.isCancelled {
      try? await Task.sleep(for: .seconds(1))
      // Reading a shelf's places takes seconds.
      await shelfQueue.run { self.shelf.refresh() }
      if mustEmptyLog.withLock({ $0 }), await ledger.accounts.emptyLog() { mustEmptyLog.withLock { $0 = false } }
    }
  }

  private func lookAtLedger() {
    var failure: String?
    do { try ledger.checkUse() } catch { failure = "\(error)" }
    let last = ledgerFailure.withLock { last in
      defer { last = failure }
      return last
    }
    guard failure != last else { return }
    if let failure {
      logger.error("the ledger cannot be used, and nothing that needs it is answered: \(failure)")
    } else {
      logger.notice("the ledger can be used again")
    }
  }

  /// Takes tokens of a limiter.
  ///
  /// - Throws: ``Rejection`` 429.
  func take(
    _ limiter: RateLimiter, _ key: String, count: Int = 1, _ what: String, account: AccountID? = nil
  ) throws {
    guard let seconds = limiter.take(key, count: count) else { return }
    throw Rejection(.tooMany(what), retryAfter: seconds, account: account)
  }

  /// Whether an account may have a region's files now.
  func owns(_ region: Catalogue.Region, _ account: AccountID) throws -> Bool {
    try ledger.owner(of: region.productId, by: account)?.status == .active
  }

  func ready() throws -> Response {
    if isEnding.withLock({ $0 }) { throw Rejection(.unavailable("the service ends"), retryAfter: 5) }
    // The log says what and where; strangers need not know.
    if ledgerFailure.withLock({ $0 }) != nil {
      throw Rejection(.unavailable("the ledger cannot be used"), retryAfter: 5)
    }
    // Throws when the ledger's file cannot be read.
    _ = try ledger.policy
    if !shelf.view.hasBundles { throw Rejection(.unavailable("no bundle of the shelf is there"), retryAfter: 5) }
    // A shelf that has changed and cannot be used is none of it: what was there last is sold, and the figures say so.
    return Reply.text("ready\n")
  }

  private func metricsDocument() -> Response {
    let view = shelf.view
    return Reply.text(
      metrics.document(
        gauges: [
          ("transfers", "Files that are on their way.", transfers.total),
          ("bodies_bytes", "Bodies of requests that are being read or answered.", bodies.total),
          ("regions", "Regions on the shelf.", view.regions.count),
          ("regions_for_sale", "Regions that everybody sees.", view.isForSale.count { $0 }),
          ("shelf_faults", "Files that are not as the catalogue says.", shelf.files.faults.count),
          (
            "shelf_stale", "1 while the shelf or the list of products has changed and cannot be used.",
            shelf.failure == nil ? 0 : 1
          ),
          ("ledger_usable", "0 while the ledger cannot be used.", ledgerFailure.withLock { $0 } == nil ? 1 : 0),
        ]),
      type: "text/plain; version=0.0.4; charset=utf-8")
  }
}

/// Whom a limit for all together counts.
enum Everybody: Hashable, Sendable { case all }

extension DispatchQueue {
  /// Does what blocks on the queue's thread.
  func run<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      self.async { continuation.resume(returning: Result(catching: work)) }
    }
    return try result.get()
  }
}
