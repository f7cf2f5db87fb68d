import MapStoreWire
import NIOHTTP1
import RegionCatalog
import TestSupport
import TileIndex

extension ChaosStore {
  func answer(_ head: HTTPRequestHead, _ body: [UInt8]) -> ChaosAnswer {
    let path = head.uri.prefix { $0 != "?" }
    return lie.withLock { $0 }("\(head.method.rawValue) \(path)", honestAnswer(head, body))
  }

  private func honestAnswer(_ head: HTTPRequestHead, _ body: [UInt8]) -> ChaosAnswer {
    let parts = head.uri.split(separator: "?", maxSplits: 1)
    let path = String(parts[0])
    let query = parts.count > 1 ? String(parts[1]) : ""
    let words = path.split(separator: "/").map(String.init)
    let name = "\(head.method.rawValue) \(path)"
    let scripted = book.withLock { book -> (status: Int, retryAfter: String?)? in
      book.requests.append(name)
      guard let next = book.failures[name]?.first else { return nil }
      book.failures[name]?.removeFirst()
      return next
    }
    if let scripted { return problem(scripted.status, .failed, retryAfter: scripted.retryAfter) }
    do {
      if words.starts(with: ["v1", "files"]), words.count == 3 { return try file(words[2], query, head) }
      if name == "POST /v1/sessions" { return try signIn(body) }
      let token = head.headers.first(name: "Authorization")?.split(separator: " ").last.map(String.init)
      // An expired session is an error for every route.
      if let token, !book.withLock({ $0.tokens.contains(token) }) { return problem(401, .unauthorized) }
      if words.starts(with: ["v1", "regions"]), words.count == 3 { return region(words[2], isOwners: token != nil) }
      if name == "GET /v1/grants/key" { return json(GrantKeys(keys: book.withLock { $0.grantKeys })) }
      guard token != nil else { return problem(401, .unauthorized) }
      switch name {
      case "POST /v1/library":
        let message = try WireJSON.decode(InstalledRegions.self, from: body)
        return json(library(Dictionary(message.installed.map { ($0.id, $0.edition) }, uniquingKeysWith: { $1 })))
      case "POST /v1/purchases": return try purchases(body)
      case "POST /v1/downloads": return try ticket(body)
      case "GET /v1/grants":
        return book.withLock { $0.grants }.map { json($0) } ?? problem(503, .unavailable)
      default: return problem(404, .notFound)
      }
    } catch {
      return problem(400, .badRequest)
    }
  }

  private func json(_ message: some Encodable, status: Int = 200) -> ChaosAnswer {
    ChaosAnswer(
      status: status, headers: [("Content-Type", "application/json")], body: (try? WireJSON.encode(message)) ?? [])
  }

  private func problem(_ status: Int, _ kind: Problem.Kind, retryAfter: String? = nil) -> ChaosAnswer {
    var answer = json(Problem(kind, title: "no", status: status), status: status)
    if let retryAfter { answer.headers.append(("Retry-After", retryAfter)) }
    return answer
  }

  private func region(_ id: String, isOwners: Bool) -> ChaosAnswer {
    let isRetired = book.withLock { $0.retired.contains(id) }
    let isShown = !isRetired || (isOwners && book.withLock { $0.owned.contains(id) })
    guard let region = shop.region(id), isShown else { return problem(404, .notFound) }
    return json(RegionDetails(region: region, isForSale: !isRetired))
  }

  private func signIn(_ body: [UInt8]) throws -> ChaosAnswer {
    let credentials = try WireJSON.decode(Credentials.self, from: body)
    guard credentials.password == "password" else { return problem(401, .wrongCredentials) }
    let token = book.withLock { book in
      let token = "token\(book.tokens.count)-\(book.requests.count)"
      book.tokens.insert(token)
      return token
    }
    return json(
      SessionDetails(
        token: token, expiresAt: 4_102_444_800_000, account: AccountDetails(id: "a", appAccountToken: "t")),
      status: 201)
  }

  private func library(_ installed: [String: String]) -> Library {
    let (owned, pending) = book.withLock { ($0.owned, $0.pending) }
    return Library(
      regions: shop.catalogue.regions.map { region in
        let have = installed[region.id]
        let status: LibraryStatus =
          pending.contains(region.id)
          ? .pendingApproval
          : !owned.contains(region.id)
            ? .forSale : have == nil ? .ownedNotInstalled : have == region.edition ? .ownedInstalled : .updateAvailable
        return LibraryRegion(
          id: region.id, productId: region.productId, title: region.title, status: status, isForSale: true,
          edition: region.edition, bytes: region.bytes, formerIds: region.formerIds, installedEdition: have,
          patchBytes: region.patches.first { $0.fromEdition == have }?.bytes)
      })
  }

  private func purchases(_ body: [UInt8]) throws -> ChaosAnswer {
    let submission = try WireJSON.decode(PurchaseSubmission.self, from: body)
    return json(
      PurchaseResults(
        results: submission.transactions.map { id in
          book.withLock { book in
            if book.pending.contains(id) { return PurchaseResult(outcome: .pending, shouldFinish: false) }
            if book.refused.contains(id) {
              return PurchaseResult(outcome: .refused, shouldFinish: false, reason: "bad-signature")
            }
            if book.others.contains(id) {
              let item = PurchaseItem(
                transactionId: "tx-\(id)", productId: id, regionId: id, entitlement: .notYours,
                reason: "token-of-another-account")
              return PurchaseResult(outcome: .refused, shouldFinish: false, items: [item])
            }
            guard book.owned.insert(id).inserted else {
              return PurchaseResult(outcome: .alreadyOwned, shouldFinish: true)
            }
            book.booked.append(id)
            return PurchaseResult(outcome: .booked, shouldFinish: true)
          }
        }))
  }

  private func ticket(_ body: [UInt8]) throws -> ChaosAnswer {
    let request = try WireJSON.decode(DownloadRequest.self, from: body)
    guard let region = shop.region(request.regionId) else { return problem(404, .notFound) }
    guard book.withLock({ $0.owned.contains(region.id) }) else { return problem(403, .notOwned) }
    guard request.edition == nil || request.edition == region.edition else { return problem(409, .editionGone) }
    let file: Catalog.File
    switch request.kind {
    case .bundle: file = Catalog.File(file: region.file, bytes: region.bytes, sha256: region.sha256)
    case .pack:
      guard let pack = region.packs.first(where: { $0.file == request.file }) else {
        return problem(404, .notFound)
      }
      file = Catalog.File(file: pack.file, bytes: pack.bytes, sha256: pack.sha256)
    case .patch:
      guard let patch = region.patches.first(where: { $0.fromEdition == request.fromEdition }) else {
        return problem(409, .editionGone)
      }
      file = Catalog.File(file: patch.file, bytes: patch.bytes, sha256: patch.sha256)
    }
    let link = book.withLock { book in
      book.linkNumber += 1
      return book.linkNumber
    }
    return json(
      DownloadTicket(
        url: "/v1/files/\(file.file)?link=\(link)", expiresAt: 4_102_444_800_000, regionId: region.id,
        edition: region.edition, file: file.file, bytes: file.bytes, sha256: file.sha256),
      status: 201)
  }

  private func file(_ name: String, _ query: String, _ head: HTTPRequestHead) throws -> ChaosAnswer {
    let link = query.split(separator: "=").last.flatMap { Int($0) } ?? 0
    let range = head.headers.first(name: "Range")
    let request = book.withLock { book in
      let request = FileRequest(
        file: name, isPatch: name.hasSuffix(".patch"), number: book.files.count + 1, range: range,
        ifRange: head.headers.first(name: "If-Range"))
      book.files.append(request)
      return request
    }
    let isCurrent = shop.catalogue.regions.contains { $0.files.contains { $0.file == name } }
    if book.withLock({ $0.deadLinks.contains(link) || ($0.linksDie && !isCurrent) }) {
      return problem(403, .linkRefused)
    }
    var bytes = try shop.bytes(name)
    var tag = "\"\(try FileHash.sha256(ofFile: shop.folder.file(name)))\""
    let fault = fault.withLock { $0 }(request)
    var wanted = range.flatMap { Self.range($0, bytes.count) }
    var answer = ChaosAnswer(headers: [("Accept-Ranges", "bytes")], fault: fault)
    switch fault {
    case .status(let status, let retryAfter): return problem(status, .failed, retryAfter: retryAfter)
    case .wholeFile: wanted = nil
    case .range(let other): wanted = other.clamped(to: 0..<bytes.count)
    case .damage(let place): bytes[place % bytes.count] ^= 0x55
    case .tag(let other): tag = other
    case .encoding(let name): answer.headers.append(("Content-Encoding", name))
    default: break
    }
    if let condition = request.ifRange, condition != tag { wanted = nil }
    answer.headers.append(("ETag", tag))
    if let wanted {
      answer.status = 206
      if case .namelessRange = fault {
      } else {
        answer.headers.append(("Content-Range", "bytes \(wanted.lowerBound)-\(wanted.upperBound - 1)/\(bytes.count)"))
      }
      bytes = Array(bytes[wanted])
    }
    answer.body = bytes
    return answer
  }

  /// `bytes=FIRST-LAST`, the only form that the client uses.
  private static func range(_ text: String, _ count: Int) -> Range<Int>? {
    let numbers = text.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
    guard numbers.count == 2, numbers[0] <= numbers[1], numbers[0] < count else { return nil }
    return numbers[0]..<min(numbers[1] + 1, count)
  }
}
