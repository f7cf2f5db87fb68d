import Hummingbird
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import Support
import Synchronization
import TileIndex

/// The handlers of an account's library and grants.
extension StoreService {
  func library(_ request: StoreRequest) async throws -> Response {
    try await library(try LibraryEntry.installed(request.query["installed"]), for: request)
  }

  /// The form of POST, for devices with more regions than a URL has room for.
  func libraryOfDevice(_ request: StoreRequest) async throws -> Response {
    let message = try await request.message(InstalledRegions.self, bytesMax: options.limits.bodyBytes)
    return try await library(try LibraryEntry.installed(message), for: request)
  }

  private func library(_ installed: [String: String], for request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let snapshot = catalog.snapshot
    let key = try await request.read { [ledger] in
      LibraryKey(try ledger.entitlements(of: account), installed: installed, in: snapshot)
    }
    if !request.isHead { try await noteInstalled(key, of: account, in: snapshot) }
    let body = try await request.body(key, in: snapshot.libraries) {
      snapshot.libraryWriter.document(LibraryEntry.all(of: snapshot, key))
    }
    return try Reply.shared(
      body, type: "application/json", etag: "\(snapshot.etag)-l\(body.tag)", caching: "private, no-cache", for: request)
  }

  /// Records what a device reports to have of what its account owns, once for each edition: an answer about a refund
  /// may say that it was delivered.
  private func noteInstalled(_ key: LibraryKey, of account: AccountID, in snapshot: CatalogSnapshot) async throws {
    for (id, edition) in key.installed {
      guard let index = snapshot.index(of: id), key.standing[index] == .owned else { continue }
      let product = snapshot.regions[index].productId
      let note = "\(account) \(product) \(edition)"
      guard reported.withLock({ $0.value(for: note) }) == nil else { continue }
      try await recordGranted(
        kind: Ledger.installed, account: account, subject: product, outcome: "reported", detail: edition, once: note)
      reported.withLock { $0.insert(true, for: note, byteCount: 128 + note.utf8.count) }
    }
  }

  func grants(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let snapshot = catalog.snapshot
    let now = clock.now()
    let owned = try await request.read { [ledger] in
      var owned: [String: OwnedTime] = [:]
      for entitlement in try ledger.entitlements(of: account) where entitlement.status == .active {
        guard let product = entitlement.productID else { continue }
        owned[product] = OwnedTime(entitlement).joined(owned[product])
      }
      return owned
    }
    let (signed, text) = try await request.compute {
      let (document, text) = self.grants(owned, of: account, now: now, in: snapshot)
      return (ReplyBody(try WireJSON.encode(try self.grants.sign(document))), text)
    }
    // Devices ask at each start: equal grants are recorded once a day.
    if !request.isHead {
      try await recordGranted(
        kind: "offline-grant", account: account, subject: nil, detail: "\(owned.count) regions", onceADay: text)
    }
    return try Reply.body(signed, caching: "no-store", for: request)
  }

  /// From when and until when a product is owned.
  private struct OwnedTime {
    var since: Int64
    /// Nil for what does not end.
    var until: Int64?

    init(_ entitlement: Entitlement) { (since, until) = (entitlement.since, entitlement.until) }

    func joined(_ other: OwnedTime?) -> OwnedTime {
      guard let other else { return self }
      var all = self
      all.since = min(since, other.since)
      all.until = until.flatMap { own in other.until.map { max(own, $0) } }
      return all
    }
  }

  /// The grants of products owned for some time, and a text that differs when they do.
  private func grants(
    _ owned: [String: OwnedTime], of account: AccountID, now: Int64, in snapshot: CatalogSnapshot
  ) -> (GrantDocument, String) {
    // In the catalogue's order, then owned regions that have left the catalogue: devices may still have them.
    let products = owned.keys.map { (indices: snapshot.indices(ofProduct: $0), product: $0) }
      .sorted { ($0.indices.first ?? .max, $0.product) < ($1.indices.first ?? .max, $1.product) }
    var grants = products.flatMap { indices, product in
      // Under former ids too: a device may have the region under one of them.
      let ids: [String?] = indices.flatMap { snapshot.regions[$0].names.ids }
      return (ids.isEmpty ? [nil] : ids).map {
        RegionGrant(
          regionId: $0, productId: product, since: owned[product]?.since ?? 0, until: owned[product]?.until)
      }
    }
    let granted = Set(products.flatMap(\.indices))
    for index in snapshot.isFree.indices where snapshot.isFree[index] && !granted.contains(index) {
      let region = snapshot.regions[index]
      grants += region.names.ids.map { RegionGrant(regionId: $0, productId: region.productId, since: 0) }
    }
    let document = GrantDocument(
      accountId: account.description, issuedAt: now, expiresAt: now + Int64(options.grantSeconds) * 1000,
      grants: grants)
    let text = products.map { item in
      "\(item.product) \(owned[item.product]?.since ?? 0)\(owned[item.product]?.until.map { " \($0)" } ?? "")\n"
    }
    return (document, text.joined())
  }
}

extension LibraryEntry {
  /// All regions that the account sees, in the order of the catalogue.
  static func all(of snapshot: CatalogSnapshot, _ key: LibraryKey) -> [LibraryEntry] {
    snapshot.regions.indices.compactMap { index in
      entry(index, snapshot, key.standing[index], installed: key.installed[snapshot.regions[index].id])
    }
  }

  private static func entry(
    _ index: Int, _ snapshot: CatalogSnapshot, _ standing: LibraryKey.Standing?, installed: String?
  ) -> LibraryEntry? {
    switch standing {
    case .owned?:
      let region = snapshot.regions[index]
      guard let installed else { return LibraryEntry(region: index, status: .ownedNotInstalled) }
      if installed == region.edition {
        return LibraryEntry(region: index, status: .ownedInstalled, installedEdition: installed)
      }
      return LibraryEntry(
        region: index, status: .updateAvailable, installedEdition: installed,
        patchBytes: region.patches.first { $0.fromEdition == installed }?.bytes)
    case .pending?: return LibraryEntry(region: index, status: .pendingApproval, installedEdition: installed)
    case .revoked?: return LibraryEntry(region: index, status: .revoked, installedEdition: installed)
    case nil:
      guard snapshot.isForSale[index] else { return nil }
      return LibraryEntry(region: index, status: .forSale, installedEdition: installed)
    }
  }

  /// Reads `id@edition,id@edition`, each percent-encoded once more inside the query's value.
  static func installed(_ text: String?) throws(Problem) -> [String: String] {
    var editions: [String: String] = [:]
    for item in (text ?? "").utf8.split(separator: UInt8(ascii: ",")) {
      let parts = item.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
      guard parts.count == 2, let id = PercentDecoding.decode(parts[0]), let edition = PercentDecoding.decode(parts[1])
      else { throw .badRequest("installed: is no list of id@edition with commas") }
      editions[id] = try checked(edition, "installed: \"\(id)\"")
    }
    return editions
  }

  /// - Throws: `Problem` 400 for an invalid edition: the answer's cache keeps the text.
  static func installed(_ message: InstalledRegions) throws(Problem) -> [String: String] {
    var editions: [String: String] = [:]
    for (index, region) in message.installed.enumerated() {
      editions[region.id] = try checked(region.edition, "installed[\(index)].edition")
    }
    return editions
  }

  private static func checked(_ edition: String, _ place: String) throws(Problem) -> String {
    guard RegionNames.isName(edition) else {
      throw .badRequest("\(place): is no edition: at most 100 letters, digits, dots, dashes and underscores")
    }
    return edition
  }
}

extension LibraryKey {
  /// - Parameter installed: editions by region id, also by former ones; those of unknown regions are dropped.
  init(_ entitlements: [Entitlement], installed: [String: String], in snapshot: CatalogSnapshot) {
    self.init(standing: [:], installed: [:])
    for (id, edition) in installed.sorted(by: { $0.key < $1.key }) {
      guard let present = snapshot.index(of: id).map({ snapshot.regions[$0].id }) else { continue }
      // What is installed under the present id counts.
      if id == present || installed[present] == nil { self.installed[present] = edition }
    }
    for index in snapshot.isFree.indices where snapshot.isFree[index] { standing[index] = .owned }
    for entitlement in entitlements {
      guard let product = entitlement.productID, let found = Standing(entitlement.status) else { continue }
      for index in snapshot.indices(ofProduct: product) { standing[index] = max(standing[index] ?? found, found) }
    }
  }
}

extension LibraryKey.Standing {
  /// Nil for entitlements without effect on regions: consumables, the other environment.
  init?(_ status: Entitlement.Status) {
    switch status {
    case .active: self = .owned
    case .pending: self = .pending
    case .revoked: self = .revoked
    case .held, .withheld, .expired: return nil
    }
  }
}
