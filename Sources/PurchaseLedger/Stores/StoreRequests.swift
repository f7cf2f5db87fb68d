import AsyncHTTPClient
import LibC
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Sends requests to a store's API, limited in rate and retried if the failure may be temporary.
struct StoreRequests: Sendable {
  struct Request: Sendable {
    var method: String = "GET"
    var url: String
    var contentType: String?
    var body: [UInt8]?
  }

  /// A configured URL.
  ///
  /// - Parameter option: where it stands, for the message.
  static func checked(_ url: String, option: String) throws(LedgerError) -> String {
    let address: HTTPAddress
    do { address = try HTTPAddress(url) } catch {
      throw LedgerError(.configuration, at: option, "\(error)", remedy: "give a URL such as https://api.example.com")
    }
    guard address.scheme == .https || isLoopback(address.host) else {
      throw LedgerError(
        .configuration, at: option, "is plain http, which anybody on the way can read and change",
        remedy: "give an https address; http is for this machine alone")
    }
    return url
  }

  private static func isLoopback(_ host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    let isIPv4 = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    return host == "localhost" || host == "[::1]" || (isIPv4 && parts[0] == "127")
  }

  /// What the store knows this ledger by, for messages.
  struct Key: Sendable {
    var name: String
    /// What to check if the store refuses it.
    var hint: String
  }

  let client: StoreConnections
  let limiter: RequestPacer
  let retry: RetryPolicy
  /// The value of the `Authorization` field. True requests a new one, after the store rejected the last.
  let authorization: @Sendable (Bool) async throws -> String?
  /// Whether a failure with this status and body may be temporary.
  var isRetryable: @Sendable (Int, JSONValue?) -> Bool = { status, _ in
    [401, 408, 429].contains(status) || status >= 500
  }
  var key: Key?
  let clock: StoreClock

  static let answerBytesMax = 32 << 20

  /// Sends a request until it succeeds, fails for good or the attempts are used up.
  ///
  /// - Parameters:
  ///   - passing: Whether a failure is passed to `accept`, as statuses 200 to 299 are.
  ///   - accept: Reads the response. Nil means that it is truncated or empty and is requested again.
  /// - Throws: `LedgerError` with code `store`, or `notInStore` if the store does not know the subject.
  func send<Answer>(
    _ request: Request, passing: (Int, JSONValue?) -> Bool = { _, _ in false },
    accept: (Int, JSONValue?) throws -> Answer?
  ) async throws -> Answer {
    var complaint = "no answer"
    var code = LedgerError.Code.store
    var isUnauthorized = false
    for attempt in 1...max(1, retry.attemptsMax) {
      try await limiter.wait()
      var wait = retry.delay(attempt)
      do {
        let (status, headers, body) = try await exchange(request, newAuthorization: isUnauthorized)
        isUnauthorized = status == 401
        let value = try? JSONReader.read(body, duplicates: .kept)
        if value?.members != nil || isUnauthorized, let date = headers.first(name: "Date") { clock.note(date: date) }
        if (200..<300).contains(status) || passing(status, value) {
          if let answer = try accept(status, value) { return answer }
          complaint = "a truncated or empty answer"
          code = .storeRefusal
        } else {
          complaint = Self.complaint(status, value)
          code = Self.code(status, value)
          if (300..<400).contains(status) { throw redirect(request, status, headers.first(name: "Location")) }
          guard isRetryable(status, value) else { throw refusal(request, status, value) }
          if let asked = headers.first(name: "Retry-After").flatMap({
            RetryAfter.seconds($0, now: clock.now, mayBeTime: true)
          }) {
            guard asked <= retry.retryAfterMax else {
              throw failure(
                request, "\(complaint): accepts no requests for \(Int(asked)) s", remedy: "run it again then", code)
            }
            wait = max(wait, asked)
          }
        }
      } catch let error as LedgerError {
        throw error
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        complaint = Self.complaint(error)
        code = .store
        // Not retried: a certificate, an address or a clock has to be corrected first.
        if Self.isOfTLS(error) { throw failure(request, complaint) }
      }
      if attempt < retry.attemptsMax { try await retry.sleep(wait) }
    }
    throw failure(
      request,
      "gave up after \(retry.attemptsMax) attempts, the last: \(complaint)\(isUnauthorized ? keyText : "")",
      remedy: isUnauthorized ? key?.hint : "run it again, it continues there", code)
  }

  /// A failure that no repetition mends.
  func refusal(_ request: Request, _ status: Int, _ body: JSONValue?) -> LedgerError {
    // Google's 403 may also be a quota, which no key mends.
    let isOfKey = [401, 403].contains(status) && !Self.isQuota(status, body)
    return failure(
      request, "the store answered \(Self.complaint(status, body))\(isOfKey ? keyText : "")",
      remedy: isOfKey ? key?.hint : nil, Self.code(status, body))
  }

  private var keyText: String {
    guard let key else { return "" }
    return "; it may not know \(key.name)" + (StoreClock.text(clock.ahead).map { ", or \($0)" } ?? "")
  }

  /// Nothing is asked of another server, which could answer for the store.
  private func redirect(_ request: Request, _ status: Int, _ location: String?) -> LedgerError {
    let host = location.flatMap { try? HTTPAddress($0).host }
    return failure(
      request,
      "the store answered \(status), a redirect to \(host ?? "another address"), which is not followed",
      remedy: "check the base URL, and proxies on the way")
  }

  private func exchange(
    _ request: Request, newAuthorization: Bool
  ) async throws -> (Int, HTTPHeaders, [UInt8]) {
    var http = HTTPClientRequest(url: request.url)
    http.method = .init(rawValue: request.method)
    http.headers.add(name: "Accept", value: "application/json")
    if let authorization = try await authorization(newAuthorization) {
      http.headers.add(name: "Authorization", value: authorization)
    }
    if let type = request.contentType { http.headers.add(name: "Content-Type", value: type) }
    if let body = request.body { http.body = .bytes(body) }
    // A deadline of the client's own ends with the head of the answer.
    return try await Deadline(after: retry.timeout).run { [client, http] in
      let response = try await client.http.execute(http, deadline: .distantFuture)
      let body = try await response.body.collect(upTo: Self.answerBytesMax)
      return (Int(response.status.code), response.headers, Array(body.readableBytesView))
    }
  }

  /// Percent-encodes one path segment or query value. A segment of dots only is encoded too, since it would mean a
  /// parent folder.
  static func escape(_ text: String) -> String {
    let escaped = PercentEncoding.encode(text)
    return escaped.allSatisfy { $0 == "." } ? escaped.replacing(".", with: "%2E") : escaped
  }

  func failure(
    _ request: Request, _ message: String, remedy: String? = nil, _ code: LedgerError.Code = .store
  ) -> LedgerError {
    // The query is left out: page tokens mean nothing to people.
    LedgerError(code, at: String(request.url.prefix { $0 != "?" }), message, remedy: remedy)
  }

  /// What a failure concerns: the whole store, its quota, or the subject of the request.
  private static func code(_ status: Int, _ body: JSONValue?) -> LedgerError.Code {
    if status == 429 || isQuota(status, body) { return .storeQuota }
    // A gateway on the way answers with pages of its own, which say nothing about the subject.
    let isOfStore = (body?["error"] ?? body?["errorCode"]) != nil
    if [400, 404, 410].contains(status), isOfStore { return .notInStore }
    return status == 401 || status == 408 || status >= 500 ? .store : .storeRefusal
  }

  /// Whether a 403 says that too much was asked, rather than that a permission is missing. Google's reasons are
  /// quotaExceeded, dailyLimitExceeded, rateLimitExceeded and userRateLimitExceeded.
  static func isQuota(_ status: Int, _ body: JSONValue?) -> Bool {
    guard status == 403, let error = body?["error"] else { return false }
    let reasons = (error["errors"]?.array ?? []) + (error["details"]?.array ?? [])
    return error["status"]?.string == "RESOURCE_EXHAUSTED"
      || reasons.contains { ($0["reason"]?.string ?? "").uppercased().contains(/(QUOTA|LIMIT)_?EXCEEDED/) }
  }

  private static func complaint(_ status: Int, _ body: JSONValue?) -> String {
    let error = body?["error"] ?? body
    let code = (error?["errorCode"] ?? error?["code"])?.identifier
    let text = (error?["errorMessage"] ?? error?["message"] ?? body?["error_description"])?.string
    return ["\(status)", code.flatMap { $0 == "\(status)" ? nil : "(\($0))" }, text.map { String($0.prefix(200)) }]
      .compactMap { $0 }.joined(separator: " ").withoutControls
  }

  /// Whether no trusted connection is possible. A connection that the server merely closed may succeed next time.
  private static func isOfTLS(_ error: any Error) -> Bool {
    #if canImport(Network)
      if error is HTTPClient.NWTLSError { return true }
    #endif
    if let error = error as? NIOSSLError {
      return ![.uncleanShutdown, .handshakeFailed(.sslError([.eofDuringHandshake]))].contains(error)
    }
    return error is NIOSSLExtraError || error is BoringSSLError
  }

  /// Describes a failure below HTTP.
  private static func complaint(_ error: any Error) -> String {
    if isOfTLS(error) {
      return """
        no secure connection (TLS): the store's certificate is not trusted for that address, or the server does not \
        use TLS; check the base URL, the system's clock and root certificates, and proxies
        """
    }
    switch error {
    case is NIOSSLError: return "the connection was closed during the TLS handshake"
    case let error as NIOConnectionError:
      let reason = error.connectionErrors.lazy.compactMap { ($0.error as? IOError)?.errnoCode }.first
      return reason.map { "no connection: " + String(cString: strerror($0)).lowercased() }
        ?? "no connection: the host is unknown"
    case let error as HTTPClientError: return "no answer: \(error.shortDescription.lowercased())"
    case is Deadline.Passed: return "no answer: deadline exceeded"
    case is NIOTooManyBytesError: return "an answer longer than \(answerBytesMax) bytes"
    case let error as IOError:
      return "the connection failed: " + String(cString: strerror(error.errnoCode)).lowercased()
    default: return "\(error)".withoutControls
    }
  }

}

/// How often a request is retried and how long to wait in between. Times are in seconds.
package struct RetryPolicy: Sendable {
  /// The most requests for one page.
  package var attemptsMax: Int
  /// The first wait. Each further one is twice as long.
  package var firstDelay: Double
  /// The longest wait.
  package var delayMax: Double
  /// If the store asks for a longer wait, the pull ends. The next one continues from its cursor.
  package var retryAfterMax: Double
  /// The limit for one request, from connecting to the last byte.
  package var timeout: Double
  /// Waits; tests do so in virtual time.
  package var sleep: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }

  /// Times in seconds.
  package init(
    attemptsMax: Int = 6, firstDelay: Double = 0.5, delayMax: Double = 30, retryAfterMax: Double = 300,
    timeout: Double = 60
  ) {
    self.attemptsMax = attemptsMax
    self.firstDelay = firstDelay
    self.delayMax = delayMax
    self.retryAfterMax = retryAfterMax
    self.timeout = timeout
  }

  /// The wait before retry `number`, which counts from 1: random between 0 and the doubled delay (full jitter), so that
  /// many clients do not retry at the same time.
  func delay(_ number: Int) -> Double {
    Double.random(in: 0...min(delayMax, firstDelay * Double(1 << min(number - 1, 20))))
  }
}

/// Makes JSON web tokens (RFC 7519) that authenticate the ledger at a store.
enum WebToken {
  /// - Parameter sign: Signs the header and the claims, encoded and joined by a dot.
  static func make(
    header: [(String, JSONValue)], claims: [(String, JSONValue)], sign: (Data) throws -> Data
  ) rethrows -> String {
    let text = [header, claims].map { fields in
      Base64.encodeURLText(JSONValue.object(fields.map { .init($0.0, $0.1) }).text.utf8)
    }.joined(separator: ".")
    return try text + "." + Base64.encodeURLText(sign(Data(text.utf8)))
  }
}
