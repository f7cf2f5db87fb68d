import HTTPTypes
import Hummingbird
import Logging
import MapStoreWire
import NIOCore
import PurchaseLedger
import Support
import TileIndex

extension StoreService {
  /// Signs a link to a file of a region that the account owns. The ledger remembers it.
  func downloads(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    try take(linksByAccount, account.description, "too many links of this account", account: account)
    let wanted = try await request.message(DownloadRequest.self, bytesMax: options.limits.smallBodyBytes)
    let view = shelf.view
    let index = try ownedRegion(wanted.regionId, account, view)
    let region = view.regions[index]
    if let edition = wanted.edition, edition != region.edition {
      throw Rejection(.editionGone("the shelf has \(region.edition)"), subject: region.id, account: account)
    }
    let file = try file(wanted, region, account)
    let expiresAt = clock.now() + Int64(options.linkSeconds) * 1000
    let link = DownloadLink(
      file: file.file, sha256Start: String(file.sha256.prefix(DownloadLink.sha256StartCount)), account: account,
      region: region.id, expiresAt: expiresAt, nonce: String(UInt64.random(in: .min ... .max), radix: 36))
    try await ledger.recordAudit(
      kind: "download", account: account, subject: file.file, outcome: "granted", detail: nil,
      onceADay: "\(link.file) \(link.sha256Start)")
    return try Reply.message(
      DownloadTicket(
        url: (options.publicURL ?? "") + link.path(signedWith: linkKeys), expiresAt: expiresAt, regionId: region.id,
        edition: region.edition, file: file.file, bytes: file.bytes, sha256: file.sha256),
      status: .created)
  }

  /// - Throws: ``Rejection``: 404 for what the account cannot see, 403 for what it sees and does not own.
  private func ownedRegion(_ id: String, _ account: AccountID, _ view: ShelfView) throws -> Int {
    // What is no region's name may be anything; as much of it as tells what was meant.
    let gone = Rejection(.notFound, subject: String(id.prefix(80)), account: account)
    guard let index = view.index(of: id) else { throw gone }
    let entitlement = try ledger.owner(of: view.regions[index].productId, by: account)
    if entitlement?.status == .active { return index }
    guard view.isForSale[index] || entitlement != nil else { throw gone }
    let reason =
      switch entitlement?.status {
      case .pending?: "the store waits for approval or payment"
      case .revoked?: "it was refunded or taken back"
      case .held?, .withheld?: "it was bought in a way that grants nothing here (\(entitlement?.reason ?? ""))"
      case .active?, nil: "no purchase of it is known"
      }
    throw Rejection(.notOwned(reason), subject: id, account: account)
  }

  private func file(
    _ wanted: DownloadRequest, _ region: Catalogue.Region, _ account: AccountID
  ) throws -> Catalogue.File {
    switch wanted.kind {
    case .bundle: return Catalogue.File(file: region.file, bytes: region.bytes, sha256: region.sha256)
    case .parcel:
      guard let parcel = region.parcels.first(where: { $0.file == wanted.file }) else {
        throw Rejection(.notFound, subject: region.id, account: account)
      }
      return Catalogue.File(file: parcel.file, bytes: parcel.bytes, sha256: parcel.sha256)
    case .patch:
      guard let patch = region.patches.first(where: { $0.fromEdition == wanted.fromEdition }) else {
        throw Rejection(
          .editionGone("there is no patch from \(wanted.fromEdition ?? "no edition")"),
          subject: region.id, account: account)
      }
      return Catalogue.File(file: patch.file, bytes: patch.bytes, sha256: patch.sha256)
    }
  }

  /// Sends a file:
  /// 1. the signature is ours, and the link has not ended;
  /// 2. a session that comes along is the same account's;
  /// 3. the file is still the one of the link, and the account still owns its region;
  /// 4. the range;
  /// 5. as many transfers as the account may have, and no more bytes than go through one link.
  func file(_ request: StoreRequest) async throws -> Response {
    let link = try DownloadLink(file: request.parameters[0], query: request.query, keys: linkKeys)
    func refused(_ problem: Problem) -> Rejection {
      Rejection(problem, subject: link.file, account: link.account)
    }
    guard link.expiresAt > clock.now() else { throw refused(.linkRefused("it has ended; ask for another")) }
    if let session = request.session, session.account != link.account {
      throw refused(.linkRefused("it is another account's; ask for one"))
    }
    let view = shelf.view
    guard let place = view.file(named: link.file), view.regions[place.region].id == link.region,
      place.file.sha256.hasPrefix(link.sha256Start)
    else { throw refused(.editionGone("the file is not on the shelf any more")) }
    guard try owns(view.regions[place.region], link.account) else {
      throw refused(.linkRefused("the account does not own the region any more"))
    }
    return try await respond(request, place.file, link)
  }

  private func respond(_ request: StoreRequest, _ file: Catalogue.File, _ link: DownloadLink) async throws -> Response {
    let tag = "\"\(file.sha256)\""
    var headers: HTTPFields = [
      .eTag: tag, .acceptRanges: "bytes", .cacheControl: "private, no-transform",
      .contentType: MediaType.ofFile(named: file.file),
      .contentDisposition: "attachment; filename*=UTF-8''\(PercentEncoding.encode(file.file))",
    ]
    // nginx has tags of its own. `If-Unmodified-Since` is to be ignored where no date is told (RFC 9110, section 13.1.4).
    if options.accelPrefix == nil, let field = request.field(.ifMatch), !Reply.matchesStrongly(field, tag) {
      throw Rejection(.preconditionFailed, subject: link.file, account: link.account)
    }
    if Reply.matches(request.field(.ifNoneMatch), tag) { return Response(status: .notModified, headers: headers) }
    guard let open = OpenFile(shelf.path(of: file.file)), open.byteCount == file.bytes,
      shelf.files.fault(of: file.file) != .otherHash
    else {
      logger.error("\(shelf.path(of: file.file)): is not the file that the catalogue names; build the shelf again")
      throw Rejection(.unavailable("the file is not whole on the shelf"), retryAfter: 30)
    }
    if let prefix = options.accelPrefix, let name = HTTPField.Name("X-Accel-Redirect") {
      // What nginx sends of it nobody tells: it counts as all of it.
      try await count(file.bytes, of: link, fileBytes: file.bytes, request)
      headers[name] = prefix + PercentEncoding.encode(file.file)
      return Response(status: .ok, headers: headers)
    }
    // A range is of the file that the client began with; of another it gets all. Ranges are of GET alone (RFC 9110, section 14.2).
    let isSame = request.field(.ifRange).map { $0 == tag } ?? true
    let range =
      isSame && request.request.method == .get
      ? ByteRange(request.field(.range), byteCount: file.bytes) : .whole
    switch range {
    case .unsatisfiable:
      headers[.contentRange] = "bytes */\(file.bytes)"
      return Response(status: .rangeNotSatisfiable, headers: headers)
    case .whole: return try await send(open, 0..<file.bytes, .ok, headers, request, link)
    case .part(let part):
      headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.bytes)"
      return try await send(open, part, .partialContent, headers, request, link)
    }
  }

  private func send(
    _ file: OpenFile, _ range: Range<Int>, _ status: HTTPResponse.Status, _ headers: HTTPFields,
    _ request: StoreRequest, _ link: DownloadLink
  ) async throws -> Response {
    if request.request.method == .head {
      try await count(0, of: link, fileBytes: file.byteCount, request)
      var headers = headers
      headers[.contentLength] = String(range.count)
      return Response(status: status, headers: headers)
    }
    guard let seat = transfers.take(link.account) else {
      throw Rejection(
        .tooMany("\(options.limits.transfersByAccount) files are on their way to this account already"),
        retryAfter: 2, subject: link.file, account: link.account)
    }
    try await count(range.count, of: link, fileBytes: file.byteCount, request)
    let body = FileBody.make(file, range, seat: seat, channel: request.channel, metrics: metrics) { [self] end in
      do {
        let isWhole = try await linkUses.end(
          range, sentTo: end, of: link, fileBytes: file.byteCount, now: clock.now())
        guard isWhole else { return }
        try await ledger.recordAudit(
          kind: "download", account: link.account, subject: link.file, outcome: "sent", detail: nil,
          onceADay: "\(link.file) \(link.sha256Start)")
      } catch {
        // The client has its bytes: what is remembered of them changes nothing for it.
        logger.error("what was sent could not be noted: \(error)")
      }
    }
    return Response(status: status, headers: headers, body: body)
  }

  /// Counts bytes before they go, and for `HEAD` none.
  ///
  /// - Throws: ``Rejection`` 403 when the link is used up.
  private func count(_ count: Int, of link: DownloadLink, fileBytes: Int, _ request: StoreRequest) async throws {
    func refused(_ why: String) -> Rejection {
      Rejection(.linkRefused("\(why); ask for another"), subject: link.file, account: link.account)
    }
    let isUsed = "the file was fetched through it already"
    if request.request.method == .head {
      if try await linkUses.isUsed(link) { throw refused(isUsed) }
      return
    }
    switch try await linkUses.begin(count, of: link, fileBytes: fileBytes, now: clock.now()) {
    case .granted: break
    case .used: throw refused(isUsed)
    case .spent: throw refused("\(LinkUses.timesMax) times the file went out through it")
    }
  }

  func grants(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    let view = shelf.view
    let now = clock.now()
    var since: [String: Int64] = [:]
    for entitlement in try ledger.entitlements(of: account) where entitlement.status == .active {
      guard let product = entitlement.productID else { continue }
      since[product] = min(since[product] ?? .max, entitlement.since)
    }
    // In the order of the shelf, and then what has gone from it: it lies on devices, and is owned.
    let products = since.keys.map { (index: view.index(ofProduct: $0) ?? .max, product: $0) }.sorted { $0 < $1 }
    let document = GrantDocument(
      accountId: account.description, issuedAt: now, expiresAt: now + Int64(options.grantSeconds) * 1000,
      grants: products.map { index, product in
        RegionGrant(
          regionId: index == .max ? nil : view.regions[index].id, productId: product, since: since[product] ?? 0)
      })
    // Devices ask at each start: what says the same as before is no news.
    if request.request.method != .head {
      let text = products.map { "\($0.product) \(since[$0.product] ?? 0)\n" }.joined()
      try await ledger.recordAudit(
        kind: "offline-grant", account: account, subject: nil, outcome: "granted", detail: "\(since.count) regions",
        onceADay: text)
    }
    return try Reply.message(try grants.sign(document))
  }
}
