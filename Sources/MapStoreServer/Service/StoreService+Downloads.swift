import Accounts
import HTTPTypes
import Hummingbird
import Logging
import MapStoreWire
import NIOCore
import PurchaseLedger
import RegionCatalog
import ServerSupport
import Support
import TileIndex

extension StoreService {
  /// Signs a link to a file of a region that the account owns, and records it in the ledger.
  func downloads(_ request: StoreRequest) async throws -> Response {
    let account = try request.account()
    try take(linksByAccount, account.description, "too many links of this account", account: account)
    let wanted = try await request.message(DownloadRequest.self, bytesMax: options.limits.smallBodyBytes)
    let snapshot = catalog.snapshot
    let (index, generation) = try await request.read {
      (
        try self.ownedRegion(wanted.regionId, account, snapshot),
        try self.ledger.accounts.passwordGeneration(of: account) ?? 0
      )
    }
    let region = snapshot.regions[index]
    if let edition = wanted.edition, edition != region.edition {
      throw Rejection(.editionGone("the catalogue has \(region.edition)"), subject: region.id, account: account)
    }
    let file = try file(wanted, region, account)
    let expiresAt = clock.now() + Int64(options.linkSeconds) * 1000
    let link = DownloadLink(
      file: file.file, sha256Start: String(file.sha256.prefix(DownloadLink.sha256StartCount)), account: account,
      region: region.id, generation: generation, expiresAt: expiresAt,
      nonce: String(UInt64.random(in: .min ... .max), radix: 36))
    try await recordGranted(
      kind: "download", account: account, subject: file.file, detail: nil,
      onceADay: "\(link.file) \(link.sha256Start)")
    return try Reply.message(
      DownloadTicket(
        url: (options.publicURL ?? "") + link.path(signedWith: linkKeys), expiresAt: expiresAt,
        regionId: wanted.regionId,
        edition: region.edition, file: file.file, bytes: file.bytes, sha256: file.sha256),
      status: .created)
  }

  /// - Throws: ``Rejection``: 404 for a region that the account cannot see, 403 for one that it sees and does not own.
  private func ownedRegion(_ id: String, _ account: AccountID, _ snapshot: CatalogSnapshot) throws -> Int {
    // The id may be any text; the audit event keeps its beginning.
    let gone = Rejection(.notFound, subject: String(id.prefix(80)), account: account)
    guard let index = snapshot.index(of: id) else { throw gone }
    if snapshot.isFree[index] { return index }
    let entitlement = try entitlement(to: index, of: snapshot, account)
    if entitlement?.status == .active { return index }
    guard snapshot.isForSale[index] || entitlement != nil else { throw gone }
    let reason =
      switch entitlement?.status {
      case .pending?: "the store waits for approval or payment"
      case .revoked?: "it was refunded or taken back"
      case .expired?: "it has ended"
      case .held?, .withheld?: "it was bought in a way that grants nothing here (\(entitlement?.reason ?? ""))"
      case .active?, nil: "no purchase of it is known"
      }
    throw Rejection(.notOwned(reason), subject: id, account: account)
  }

  private func file(
    _ wanted: DownloadRequest, _ region: Catalog.Region, _ account: AccountID
  ) throws -> Catalog.File {
    switch wanted.kind {
    case .bundle: return Catalog.File(file: region.file, bytes: region.bytes, sha256: region.sha256)
    case .pack:
      guard let pack = region.packs.first(where: { $0.file == wanted.file }) else {
        throw Rejection(.notFound, subject: region.id, account: account)
      }
      return Catalog.File(file: pack.file, bytes: pack.bytes, sha256: pack.sha256)
    case .patch:
      guard let patch = region.patches.first(where: { $0.fromEdition == wanted.fromEdition }) else {
        throw Rejection(
          .editionGone("there is no patch from \(wanted.fromEdition ?? "no edition")"),
          subject: region.id, account: account)
      }
      return Catalog.File(file: patch.file, bytes: patch.bytes, sha256: patch.sha256)
    }
  }

  /// Sends a file, after these checks:
  ///
  /// 1. the link is signed, has not expired, and the account's password is that of then;
  /// 2. a session, if there is one, belongs to the link's account;
  /// 3. the catalogue still has the link's file, and the account still owns its region;
  /// 4. preconditions and range;
  /// 5. the limits: transfers of the account, bytes of the link.
  func file(_ request: StoreRequest) async throws -> Response {
    let link = try DownloadLink(file: request.parameters[0], query: request.query, keys: linkKeys)
    func refused(_ problem: Problem) -> Rejection {
      Rejection(problem, subject: link.file, account: link.account)
    }
    guard link.expiresAt > clock.now() else { throw refused(.linkRefused("it has ended", remedy: "ask for another")) }
    let snapshot = catalog.snapshot
    let place = snapshot.file(named: link.file)
    let (generation, isOwned) = try await request.read {
      (
        try self.ledger.accounts.passwordGeneration(of: link.account) ?? 0,
        try place.map { try self.owns($0.region, of: snapshot, link.account) } ?? false
      )
    }
    guard generation == link.generation else {
      throw refused(.linkRefused("the password was changed", remedy: "sign in and ask for another"))
    }
    if let session = request.session, session.account != link.account {
      throw refused(.linkRefused("it is another account's", remedy: "ask for one"))
    }
    guard let place, snapshot.index(of: link.region) == place.region,
      place.file.sha256.hasPrefix(link.sha256Start)
    else { throw refused(.editionGone("the file is not in the catalogue any more")) }
    guard isOwned else {
      throw refused(.linkRefused("the account does not own the region any more"))
    }
    return try await respond(request, place.file, link)
  }

  private func respond(_ request: StoreRequest, _ file: Catalog.File, _ link: DownloadLink) async throws -> Response {
    let tag = "\"\(file.sha256)\""
    var headers: HTTPFields = [
      .eTag: tag, .acceptRanges: "bytes", .cacheControl: "private, no-transform",
      .contentType: MediaType.ofFile(named: file.file),
      .contentDisposition: "attachment; filename*=UTF-8''\(PercentEncoding.encode(file.file))",
    ]
    // Behind nginx, tags are nginx's own. `If-Unmodified-Since` is ignored, since no date is sent (RFC 9110, section
    // 13.1.4).
    if options.accelPrefix == nil, let field = request.field(.ifMatch), !Reply.matchesStrongly(field, tag) {
      throw Rejection(.preconditionFailed, subject: link.file, account: link.account)
    }
    if Reply.matches(request.field(.ifNoneMatch), tag) { return Reply.notModified(headers) }
    guard let open = RegularFile(catalog.path(of: file.file)), open.byteCount == file.bytes,
      catalog.files.fault(of: file.file) != .otherHash
    else {
      logger.error(
        "\(catalog.path(of: file.file)): is not the file that the catalogue names; build the catalogue again")
      throw Rejection(.unavailable("the file is not whole in the catalogue"), retryAfter: 30)
    }
    if let prefix = options.accelPrefix, let name = HTTPField.Name("X-Accel-Redirect") {
      // How much of it nginx sends is unknown, so it counts as the whole file.
      try await count(file.bytes, of: link, fileBytes: file.bytes, request)
      headers[name] = prefix + PercentEncoding.encode(file.file)
      return Response(status: .ok, headers: headers)
    }
    // If-Range: a client that began with another file gets the whole of this one. Ranges apply to GET alone (RFC 9110,
    // section 14.2).
    let isSame = request.field(.ifRange).map { $0 == tag } ?? true
    let range =
      isSame && !request.isHead
      ? ByteRange(request.field(.range), byteCount: file.bytes) : .whole
    switch range {
    case .unsatisfiable:
      headers[.contentRange] = ContentRange.unsatisfiable(of: file.bytes)
      return Response(status: .rangeNotSatisfiable, headers: headers)
    case .whole: return try await send(open, 0..<file.bytes, .ok, headers, request, link)
    case .part(let part):
      headers[.contentRange] = ContentRange(part, of: file.bytes).text
      return try await send(open, part, .partialContent, headers, request, link)
    }
  }

  private func send(
    _ file: RegularFile, _ range: Range<Int>, _ status: HTTPResponse.Status, _ headers: HTTPFields,
    _ request: StoreRequest, _ link: DownloadLink
  ) async throws -> Response {
    if request.isHead {
      try await count(0, of: link, fileBytes: file.byteCount, request)
      var headers = headers
      headers[.contentLength] = String(range.count)
      return Response(status: status, headers: headers)
    }
    guard let slot = transfers.take(link.account) else {
      throw Rejection(
        .tooMany("\(options.limits.transfersByAccount) files are on their way to this account already"),
        retryAfter: 2, subject: link.file, account: link.account)
    }
    try await count(range.count, of: link, fileBytes: file.byteCount, request)
    let body = DownloadBody.make(file, range, slot: slot, channel: request.channel, metrics: metrics) { [self] end in
      do {
        let isWhole = try await linkUses.end(
          range, sentTo: end, of: link, fileBytes: file.byteCount, now: clock.now())
        guard isWhole else { return }
        try await ledger.recordAudit(
          kind: "download", account: link.account, subject: link.file, outcome: "sent", detail: nil,
          onceADay: "\(link.file) \(link.sha256Start)")
      } catch {
        // The client has its bytes all the same.
        faults.error("sent", "what was sent could not be noted: \(error)", of: error)
      }
    }
    return Response(status: status, headers: headers, body: body)
  }

  /// Counts bytes before they are sent; none for `HEAD`.
  ///
  /// - Throws: ``Rejection`` 403 if the link is used up.
  private func count(_ count: Int, of link: DownloadLink, fileBytes: Int, _ request: StoreRequest) async throws {
    func refused(_ why: String) -> Rejection {
      Rejection(.linkRefused(why, remedy: "ask for another"), subject: link.file, account: link.account)
    }
    let isUsed = "the file was fetched through it already"
    if request.isHead {
      if try await linkUses.isUsed(link) { throw refused(isUsed) }
      return
    }
    switch try await linkUses.begin(count, of: link, fileBytes: fileBytes, now: clock.now()) {
    case .granted: break
    case .used: throw refused(isUsed)
    case .spent: throw refused("\(LinkUses.timesMax) times the file went out through it")
    }
  }
}
