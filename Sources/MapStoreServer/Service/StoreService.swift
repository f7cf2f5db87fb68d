import Accounts
import Dispatch
import HTTPTypes
import Hummingbird
import Logging
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import ServerSupport
import Support
import Synchronization
import TileIndex

/// Joins catalogue, ledger and files. Its extensions are the handlers of the routes (``StoreRouter``).
final class StoreService: Sendable {
  let options: StoreOptions
  let catalog: StoreCatalog
  let ledger: Ledger
  let verifier: EvidenceVerifier
  let clock: LedgerClock
  let linkKeys: HMACKeys
  let grants: GrantSigner
  let googlePush: GooglePush?
  let logger: Logger
  /// For what every request may meet.
  let faults: FaultLog
  let metrics = StoreMetrics()
  let transfers: ConcurrencyLimiter<AccountID>
  let linkUses: LinkUses
  let devices: KnownDevices
  let capacity: StoreCapacity
  let proxies: TrustedProxies
  /// Who may read the metrics.
  let monitors: TrustedProxies
  let libraries: WebLibraries
  let front: ShopFront
  /// By the hash of the preview, so that they outlive a catalogue.
  let thumbnails = ReplyCache<String>(bytesMax: 32 << 20, ofOneMax: 256 << 10)
  let passwordsByAddress: RateLimiter
  let passwordsByLogin: RateLimiter
  /// Separate from those of anonymous clients, who can fill a limiter's table.
  let passwordsByDevice: RateLimiter
  /// Of all known devices at one address: whoever has many accounts has no more attempts.
  let passwordsByDeviceAddress: RateLimiter
  let passwordsByAccount: RateLimiter
  let passwordsByLoginEverywhere: RateLimiter
  private let catalogQueue = DispatchQueue(label: "map-store.catalogue-watch")
  private let ledgerQueue = DispatchQueue(label: "map-store.ledger-watch")
  let requestsByAddress: RateLimiter
  let requestsByAccount: RateLimiter
  let linksByAccount: RateLimiter
  let auditsByAddress: RateLimiter
  let auditsOfStrangers: RateLimiter
  let evidencesByAccount: RateLimiter
  let unsignedMessages: RateLimiter
  /// Messages that are kept although their signature cannot be read.
  let unreadableByAddress = RateLimiter(StoreLimits.Rate(burst: 20, perMinute: 1))
  /// Whether an app at Google is sold here.
  let sellsAtGoogle: Bool
  /// Whether an account was erased while other connections read: the ledger's write-ahead log still has to be emptied.
  let mustEmptyLog = Mutex(false)
  /// What devices reported lately, which is recorded.
  let reported = Mutex(LRUTable<String, Bool>(byteCountMax: 16 << 20))
  /// Why the ledger cannot be used, as of the last check.
  let ledgerFailure = Mutex<String?>(nil)
  /// The catalogue whose products were compared with those of the ledger, and those that only the ledger has.
  private let ownersChecked = Mutex<(etag: String, orphans: [String])>(("", []))
  /// Whether the service is shutting down.
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
    faults = FaultLog(logger)
    linkKeys = try HMACKeys(files: options.linkKeys)
    linkUses = try LinkUses(path: LinkUses.path(of: ledger))
    catalog = try StoreCatalog(
      folder: options.catalogFolder, products: options.products, logger: logger, hashes: linkUses)
    devices = try KnownDevices(path: LinkUses.path(of: ledger))
    capacity = StoreCapacity(options.limits)
    proxies = TrustedProxies(options.trustedProxies)
    monitors = TrustedProxies(options.metricsFrom)
    transfers = ConcurrencyLimiter(max: options.limits.transfersByAccount)
    grants = try GrantSigner(files: options.grantKeys)
    googlePush = try options.googlePush.map { try GooglePush($0, logger: logger) }
    front = try ShopFront(options.pages)
    libraries = WebLibraries.find(in: options.webFolders)
    passwordsByAddress = RateLimiter(options.limits.passwordsByAddress)
    passwordsByLogin = RateLimiter(options.limits.passwordsByLogin)
    passwordsByDevice = RateLimiter(options.limits.passwordsByLogin)
    passwordsByDeviceAddress = RateLimiter(options.limits.passwordsByAddress)
    passwordsByAccount = RateLimiter(options.limits.passwordsByLogin)
    passwordsByLoginEverywhere = RateLimiter(options.limits.passwordsByLoginEverywhere)
    requestsByAddress = RateLimiter(options.limits.requestsByAddress)
    requestsByAccount = RateLimiter(options.limits.requestsByAccount)
    linksByAccount = RateLimiter(options.limits.linksByAccount)
    auditsByAddress = RateLimiter(options.limits.auditsByAddress)
    auditsOfStrangers = RateLimiter(options.limits.auditsOfStrangers)
    evidencesByAccount = RateLimiter(options.limits.evidencesByAccount)
    unsignedMessages = RateLimiter(options.limits.unsignedMessages)
    checkOwners()
    options.confirmation?.report { [faults] text, error in faults.error("store", text, of: error) }
  }

  /// Watches the catalogue, the ledger, and the log that an erasure has left, until the task is cancelled.
  func watch() async {
    // A timer on its own queue: neither busy tasks nor blocking work elsewhere delays it.
    let timer = DispatchSource.makeTimerSource(queue: ledgerQueue)
    timer.setEventHandler { [weak self] in self?.checkLedger() }
    timer.schedule(deadline: .now() + .milliseconds(500), repeating: .milliseconds(500))
    timer.activate()
    defer { timer.cancel() }
    defer { faults.close() }
    while !Task.isCancelled {
      try? await Task.sleep(for: .seconds(1))
      faults.tell()
      // Reading the places of a large catalogue takes seconds.
      await catalogQueue.run {
        self.catalog.refresh()
        self.checkOwners()
      }
      if mustEmptyLog.withLock({ $0 }), await ledger.accounts.emptyLog() { mustEmptyLog.withLock { $0 = false } }
    }
  }

  private func checkLedger() {
    var failure: String?
    do { try ledger.checkUse() } catch { failure = "\(error)" }
    let last = ledgerFailure.withLock { last in
      defer { last = failure }
      return last
    }
    guard failure != last else { return }
    if let failure {
      logger.error("the ledger cannot be used: \(failure)")
    } else {
      logger.notice("the ledger can be used again")
    }
  }

  /// Records what an account was given or has, once a day or once.
  ///
  /// While another process holds the ledger's lock the answer waits a second for that, and the event follows when the
  /// lock is free: an owner's map does not depend on a note of it.
  func recordGranted(
    kind: String, account: AccountID, subject: String?, outcome: String = "granted", detail: String?,
    onceADay occasion: String? = nil, once note: String? = nil
  ) async throws {
    try await Deadline.waiting(atMost: .seconds(1)) { [ledger, faults] isAlone in
      do {
        try await ledger.recordAudit(
          kind: kind, account: account, subject: subject, outcome: outcome, detail: detail, onceADay: occasion,
          once: note)
      } catch  where isAlone() {
        faults.error("given out", "what was given out could not be noted: \(error)", of: error)
      }
    }
  }

  /// Takes tokens of a limiter.
  ///
  /// - Parameter reserve: tokens that must be left, for callers that ask without a reserve.
  /// - Throws: ``Rejection`` 429.
  func take(
    _ limiter: RateLimiter, _ key: String, count: Int = 1, leaving reserve: Int = 0, _ what: String,
    account: AccountID? = nil
  ) throws {
    guard let seconds = limiter.take(key, count: count, leaving: reserve) else { return }
    throw Rejection(.tooMany(what), retryAfter: seconds, account: account)
  }

  /// Whether an account may have a region's files now.
  func owns(_ region: Int, of snapshot: CatalogSnapshot, _ account: AccountID) throws -> Bool {
    if snapshot.isFree[region] { return true }
    return try entitlement(to: region, of: snapshot, account)?.status == .active
  }

  /// The account's entitlement to one of the products that open a region (its own, present and former, and bundles): an
  /// active one if there is one.
  func entitlement(to region: Int, of snapshot: CatalogSnapshot, _ account: AccountID) throws -> Entitlement? {
    var first: Entitlement?
    for product in snapshot.products(opening: region) {
      guard let found = try ledger.owner(of: product, by: account) else { continue }
      if found.status == .active { return found }
      first = first ?? found
    }
    return first
  }

  /// Warns of products that accounts own and no region of the catalogue has: their owners cannot download what they
  /// bought.
  func checkOwners() {
    let snapshot = catalog.snapshot
    guard ownersChecked.withLock({ $0.etag != snapshot.etag }) else { return }
    do {
      let orphans = try ledger.activeProducts(except: snapshot.products)
      let last = ownersChecked.withLock { checked in
        defer { checked = (snapshot.etag, orphans.map(\.product)) }
        return Set(checked.orphans)
      }
      for (product, count) in orphans.prefix(Self.orphansShown) where !last.contains(product) {
        logger.warning(
          """
          \(product): no region of the catalogue has this product, and what \(count) accounts bought cannot be downloaded; \
          name it in \(RegionNames.formerProductIDsKey) of the region that takes its place, and build the \
          catalogue again
          """)
      }
      if orphans.count > Self.orphansShown, Set(orphans.map(\.product)) != last {
        logger.warning("\(orphans.count) products have owners and no region of the catalogue")
      }
    } catch {
      logger.error("the ledger's products could not be compared with the catalogue: \(error)")
    }
  }

  private static let orphansShown = 20

  func ready() async throws -> Response {
    if isEnding.withLock({ $0 }) { throw Rejection(.unavailable("the service ends"), retryAfter: 5) }
    // The log has the details, which are not for anonymous clients.
    if ledgerFailure.withLock({ $0 }) != nil {
      throw Rejection(.unavailable("the ledger cannot be used"), retryAfter: 5)
    }
    // Throws when the ledger's file cannot be read.
    _ = try await ledgerQueue.run { [ledger] in try ledger.policy }
    if !catalog.snapshot.hasBundles {
      throw Rejection(.unavailable("no bundle of the catalogue is there"), retryAfter: 5)
    }
    // An unreadable new catalogue does not make the service unready: the last one stays in use, and a metric reports
    // it.
    return Reply.text("ready\n")
  }

  func metricsDocument() -> Response {
    let snapshot = catalog.snapshot
    return Reply.text(
      metrics.document(
        gauges: [
          ("transfers", "Files that are on their way.", transfers.total),
          ("bodies_bytes", "Bodies of requests that are being read or answered.", capacity.bodies.total),
          ("answers_bytes", "Answers that are being sent from memory.", capacity.answers.total),
          ("computations_waiting", "Answers that wait to be computed.", capacity.queue.waitingCount),
          ("connections", "Open connections.", capacity.connections.total),
          (
            "connections_ended", "Connections that were ended since the start to make room for another client's.",
            capacity.connections.takenCount + capacity.bodies.takenCount + capacity.answers.takenCount
          ),
          ("regions", "Regions in the catalogue.", snapshot.regions.count),
          ("regions_for_sale", "Regions that everybody sees.", snapshot.isForSale.count { $0 }),
          (
            "orphaned_products", "Products with owners that no region of the catalogue has.",
            ownersChecked.withLock { $0.orphans.count }
          ),
          ("catalogue_faults", "Files that are not as the catalogue says.", catalog.files.faults.count),
          (
            "catalogue_stale", "1 while the catalogue or the list of products has changed and cannot be used.",
            catalog.failure == nil ? 0 : 1
          ),
          ("ledger_usable", "0 while the ledger cannot be used.", ledgerFailure.withLock { $0 } == nil ? 1 : 0),
        ]),
      type: MetricsText.mediaType)
  }
}

extension DispatchQueue {
  /// Runs blocking work on the queue's thread.
  func run<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      self.async { continuation.resume(returning: Result(catching: work)) }
    }
    return try result.get()
  }
}
