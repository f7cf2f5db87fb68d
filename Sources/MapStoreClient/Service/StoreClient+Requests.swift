import MapStoreWire
import Support
import TileIndex

/// Called with what the server answered, before the client waits for one of the server's limits.
typealias WaitHandler = @Sendable (_ complaint: String) -> Void

extension StoreClient {
  /// - Parameters:
  ///   - fits: throws an ``AnswerFault`` for an answer that does not fit the request.
  ///   - waits: see ``exchange(_:target:body:repeats:isAwaited:attemptsMax:waits:)``.
  func send<Answer: ServerAnswer>(
    _ route: StoreRoute, path: String? = nil, query: [(name: String, value: String)] = [], attemptsMax: Int? = nil,
    fits: (Answer) throws -> Void = { _ in }, waits: WaitHandler? = nil
  ) async throws -> Answer {
    let text = query.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
      .joined(separator: "&")
    let target = (path ?? route.path) + (text.isEmpty ? "" : "?" + text)
    let bytes = try await exchange(
      route, target: target, body: nil, repeats: true, attemptsMax: attemptsMax, waits: waits)
    return try decode(bytes, path ?? route.path, fits)
  }

  /// - Parameters:
  ///   - isAwaited: see ``exchange(_:target:body:repeats:isAwaited:attemptsMax:waits:)``.
  ///   - waits: as well.
  func send<Answer: ServerAnswer>(
    _ route: StoreRoute, body: some Encodable, repeats: Bool = true, isAwaited: Bool = false,
    fits: (Answer) throws -> Void = { _ in }, waits: WaitHandler? = nil
  ) async throws -> Answer {
    let bytes: [UInt8]
    do {
      bytes = try WireJSON.encode(body)
    } catch {
      preconditionFailure("messages can be written: \(error)")
    }
    let answer = try await exchange(
      route, target: route.path, body: bytes, repeats: repeats, isAwaited: isAwaited, waits: waits)
    return try decode(answer, route.path, fits)
  }

  func sendWithoutAnswer(_ route: StoreRoute) async throws {
    _ = try await exchange(route, target: route.path, body: nil, repeats: true)
  }

  /// Posts a notification as the app store does, for fake stores. The server records it before it answers; repeating it
  /// changes nothing.
  package func notify(apple notification: [UInt8]) async throws {
    _ = try await exchange(
      .appleNotifications, target: StoreRoute.appleNotifications.path, body: notification, repeats: true)
  }

  /// The only way from bytes to a message, so that every message is checked.
  private func decode<Answer: ServerAnswer>(
    _ bytes: [UInt8], _ path: String, _ fits: (Answer) throws -> Void
  ) throws -> Answer {
    do {
      let answer = try WireJSON.decode(Answer.self, from: bytes)
      try answer.check()
      try fits(answer)
      return answer
    } catch {
      throw damaged(path, "the answer cannot be understood: \(error)")
    }
  }

  private func damaged(_ path: some StringProtocol, _ complaint: String) -> MapStoreError {
    MapStoreError(
      .damaged, address + path, complaint, remedy: "check that this is the address of a map store, and update the app")
  }

  /// Repeats a request until it is answered, until repeating cannot help, or until ``RetryRule/callMax`` has passed.
  ///
  /// - Parameters:
  ///   - repeats: false for requests that must not arrive twice.
  ///   - isAwaited: true where a person waits for the answer, so that a refused connection is not tried again.
  ///   - attemptsMax: instead of the rule's.
  ///   - waits: called before each wait for a limit of the server's (429 with `Retry-After`). Such an answer is then no
  ///     failed attempt, however often it comes; the waits become longer, so that no server keeps the device awake.
  /// - Returns: the body of a successful answer.
  private func exchange(
    _ route: StoreRoute, target: String, body: [UInt8]?, repeats: Bool, isAwaited: Bool = false,
    attemptsMax: Int? = nil, waits: WaitHandler? = nil
  ) async throws -> [UInt8] {
    var hasSignedInAgain = false
    var attempt = 0
    var rests = 0
    let deadline = Deadline(after: retry.callMax)
    while true {
      attempt += 1
      let token = session.details?.token
      if route.access == .session, token == nil {
        guard !hasSignedInAgain, try await signInAgain() else { throw Self.signedOut(address) }
        hasSignedInAgain = true
        continue
      }
      let path = target.prefix { $0 != "?" }
      var asked: Double?
      var isLimited = false
      let complaint: String
      let remedy: String
      do {
        let answer = try await once(route, target: target, token: token, body: body, until: deadline)
        if (200..<300).contains(answer.status) { return answer.body }
        // Nil for the pages of proxies.
        let problem = try? WireJSON.decode(Problem.self, from: answer.body)
        do { try problem?.check() } catch { throw damaged(path, "the server's problem details are invalid: \(error)") }
        // For public routes too: without a session they answer differently, and its end would go unnoticed.
        if answer.status == 401, route.takesSession, token != nil {
          // Another request may have renewed the session meanwhile.
          if session.details?.token != token { continue }
          guard !hasSignedInAgain, try await signInAgain() else {
            session.set(nil)
            throw Self.signedOut(address)
          }
          hasSignedInAgain = true
          continue
        }
        guard [408, 425, 429].contains(answer.status) || answer.status >= 500 else {
          throw Self.failure(answer.status, problem, address + path)
        }
        complaint = "the server answered \(answer.status)\(problem.map { ": \($0)" } ?? "")"
        remedy = "try again later: the server is overloaded or failing"
        asked = answer.retryAfter
        isLimited = answer.status == 429
      } catch let error as MapStoreError {
        throw error
      } catch let error where error is ConnectionFault || error is Deadline.Passed {
        let fault =
          error as? ConnectionFault
          ?? ConnectionFault(.interrupted, "the server has sent no whole answer within \(Int(retry.callMax)) s")
        if fault.kind == .notHTTP { throw damaged(path, fault.description) }
        complaint = fault.description
        let isSent = fault.kind != .notSent
        guard repeats || !isSent else {
          throw MapStoreError(
            .unreachable, address, complaint,
            remedy: "the request may have been carried out: sign in, and try again only if that fails")
        }
        remedy = isSent ? "try again: repeating it is safe" : "check the network and the address, then try again"
        if isAwaited, fault.isRefused { throw MapStoreError(.unreachable, address, complaint, remedy: remedy) }
      }
      if let asked, asked > retry.retryAfterMax {
        throw MapStoreError(.unreachable, address, complaint, remedy: "try again in \(Int(asked)) s")
      }
      if let asked, isLimited, let waits {
        attempt -= 1
        rests += 1
        waits(complaint)
        let rest = retry.delay(rests, asked: asked)
        deadline.extend(by: rest)
        try await Task.sleep(for: .seconds(rest))
        continue
      }
      let delay = retry.delay(attempt)
      guard attempt < attemptsMax ?? retry.attemptsMax, delay < deadline.secondsLeft else {
        throw MapStoreError(
          .unreachable, address, "gave up after \(attempt) attempts: \(complaint)", remedy: remedy)
      }
      // What the server asks for is no time that it wastes.
      deadline.extend(by: asked ?? 0)
      try await Task.sleep(for: .seconds(delay + (asked ?? 0)))
    }
  }

  private func signInAgain() async throws -> Bool {
    guard let credentials = try await session.newCredentials() else { return false }
    _ = try await signIn(credentials, isAwaited: false)
    return true
  }

  private struct Answer: Sendable {
    let status: Int
    let retryAfter: Double?
    let body: [UInt8]
  }

  /// The rate at which a large answer moves its deadline on: that of a slow network of phones.
  private static let bytesPerSecondMin = 8_192.0

  private func once(
    _ route: StoreRoute, target: String, token: String?, body: [UInt8]?, until deadline: Deadline
  ) async throws -> Answer {
    let path = String(target.prefix { $0 != "?" })
    let url: HTTPAddress
    do { url = try HTTPAddress(address + target) } catch {
      throw MapStoreError(.unreachable, address, "\(error)", remedy: "correct the address of the map store")
    }
    var request = HTTPMessage(method: route.method.rawValue, url: url, body: body)
    request.fields = [("Accept", "application/json, \(Problem.contentType)")]
    if let token, route.takesSession { request.fields.append(("Authorization", "Bearer \(token)")) }
    if body != nil { request.fields.append(("Content-Type", "application/json")) }
    return try await deadline.run { [self, request] in
      let answer = try await connections.send(request)
      var bytes: [UInt8] = []
      func check(_ count: Int) throws {
        guard count > Self.answerBytesMax else { return }
        throw damaged(path, "the answer is larger than \(Self.answerBytesMax >> 20) MiB, more than any library takes")
      }
      try check(answer.field("Content-Length").flatMap { Int($0) } ?? 0)
      for try await piece in answer.body {
        try check(bytes.count + piece.count)
        bytes += piece
        deadline.extend(by: Double(piece.count) / Self.bytesPerSecondMin)
      }
      let asked = answer.field("Retry-After").flatMap { RetryAfter.seconds($0, now: clock.now()) }
      return Answer(status: answer.status, retryAfter: asked, body: bytes)
    }
  }

  static func signedOut(_ address: String) -> MapStoreError {
    MapStoreError(
      .signedOut, address, "there is no session, or it has expired", remedy: "sign in again", repair: .signIn)
  }

  private static func failure(_ status: Int, _ problem: Problem?, _ place: String) -> MapStoreError {
    let text =
      problem.map { $0.message == $0.title ? $0.title : "\($0.title): \($0.message)" }
      ?? "the server answered \(status)"
    return switch (status, problem?.type) {
    case (_, .wrongCredentials?):
      MapStoreError(.signedOut, place, text, remedy: "check login and password", repair: .signIn)
    case (_, .notOwned?):
      MapStoreError(.notOwned, place, text, remedy: "buy it, or restore purchases", repair: .listLibrary)
    case (_, .editionGone?): MapStoreError(.editionGone, place, text, remedy: "look up the current edition")
    case (404, _):
      MapStoreError(.unknown, place, text, remedy: "check the name against the catalogue", repair: .listLibrary)
    default: MapStoreError(.refused, place, text, remedy: problem?.remedy)
    }
  }
}
