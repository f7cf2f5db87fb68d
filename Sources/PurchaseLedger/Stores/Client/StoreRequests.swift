import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Support

/// Makes requests of a store's API: limited in rate, repeated where that may help.
struct StoreRequests: Sendable {
  struct Request: Sendable {
    var method: String = "GET"
    var url: String
    var contentType: String?
    var body: [UInt8]?
  }

  let client: HTTPClient
  let limiter: RequestPacer
  let retry: RetryPolicy
  /// Text for the `Authorization` field; `true` asks for a new one, after the last was refused.
  let authorization: @Sendable (Bool) async throws -> String?
  /// Whether a failure with this body may end by itself.
  var isRetryable: @Sendable (Int, JSONValue?) -> Bool = { status, _ in
    [401, 408, 429].contains(status) || status >= 500
  }
  let clock: LedgerClock

  static let answerBytesMax = 32 << 20

  /// - Parameters:
  ///   - others: Statuses that are answers, too, beside 200 to 299.
  ///   - accept: Reads the answer; nil when it is cut off or empty and should be asked for again.
  /// - Throws: `LedgerError` with code `store` when repeating does not help.
  func send<Answer>(
    _ request: Request, others: Set<Int> = [], accept: (Int, JSONValue?) throws -> Answer?
  ) async throws -> Answer {
    var complaint = "no answer"
    var isUnauthorized = false
    for attempt in 1...max(1, retry.attemptsMax) {
      try await limiter.wait()
      var wait = retry.delay(attempt)
      do {
        let (status, headers, body) = try await exchange(request, newAuthorization: isUnauthorized)
        isUnauthorized = status == 401
        let value = try? JSONReader.read(body, duplicates: .kept)
        if (200..<300).contains(status) || others.contains(status) {
          if let answer = try accept(status, value) { return answer }
          complaint = "an answer that is cut off or empty"
        } else {
          complaint = Self.complaint(status, value)
          guard isRetryable(status, value) else {
            throw failure(
              request, "the store answered \(complaint)", [400, 404, 410].contains(status) ? .notInStore : .store)
          }
          if let asked = headers.first(name: "Retry-After").flatMap({
            RetryAfter.seconds($0, now: clock.now(), mayBeTime: true)
          }) {
            guard asked <= retry.retryAfterMax else {
              throw failure(request, "\(complaint): wants no requests for \(Int(asked)) s; run it again then")
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
        // Asked again it would fail again: somebody has to look at a certificate, an address or a clock.
        if Self.isOfTLS(error) { throw failure(request, complaint) }
      }
      if attempt < retry.attemptsMax { try await Task.sleep(for: .seconds(wait)) }
    }
    throw failure(
      request,
      "gave up after \(retry.attemptsMax) attempts, the last: \(complaint); run it again, it goes on where it was")
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
    let response = try await client.execute(http, timeout: .milliseconds(Int64(retry.timeout * 1000)))
    let body = try await response.body.collect(upTo: Self.answerBytesMax)
    return (Int(response.status.code), response.headers, Array(body.readableBytesView))
  }

  func failure(_ request: Request, _ message: String, _ code: LedgerError.Code = .store) -> LedgerError {
    // A query may hold page tokens, which say nothing to people.
    LedgerError(code, at: String(request.url.prefix { $0 != "?" }), message)
  }

  private static func complaint(_ status: Int, _ body: JSONValue?) -> String {
    let error = body?["error"] ?? body
    let code = (error?["errorCode"] ?? error?["code"])?.identifier
    let text = (error?["errorMessage"] ?? error?["message"] ?? body?["error_description"])?.string
    return ["\(status)", code.flatMap { $0 == "\(status)" ? nil : "(\($0))" }, text.map { String($0.prefix(200)) }]
      .compactMap { $0 }.joined(separator: " ").withoutControls
  }

  /// Whether no connection can be had that is worth trusting. One that the other side merely closed may come about the next time.
  private static func isOfTLS(_ error: any Error) -> Bool {
    #if canImport(Network)
      if error is HTTPClient.NWTLSError { return true }
    #endif
    if let error = error as? NIOSSLError {
      return ![.uncleanShutdown, .handshakeFailed(.sslError([.eofDuringHandshake]))].contains(error)
    }
    return error is NIOSSLExtraError || error is BoringSSLError
  }

  /// What went wrong below HTTP, in words.
  private static func complaint(_ error: any Error) -> String {
    if isOfTLS(error) {
      return """
        no secure connection (TLS): the store's certificate is not one this system trusts for that address, or nobody speaks TLS there; check the \
        base URL, the system's clock and root certificates, and whether a proxy stands between
        """
    }
    switch error {
    case is NIOSSLError: return "the connection was closed while it was being secured (TLS)"
    case let error as NIOConnectionError:
      let reason = error.connectionErrors.lazy.compactMap { ($0.error as? IOError)?.errnoCode }.first
      return reason.map { "no connection: " + String(cString: strerror($0)).lowercased() }
        ?? "no connection: the name of the host is not known"
    case let error as HTTPClientError: return "no answer: \(error.shortDescription.lowercased())"
    case is NIOTooManyBytesError: return "an answer longer than \(answerBytesMax) bytes"
    case let error as IOError:
      return "the connection failed: " + String(cString: strerror(error.errnoCode)).lowercased()
    default: return "\(error)".withoutControls
    }
  }

  /// The repetitions are ours: a client that tries connections again by itself would do so for a minute, whatever is wrong.
  static func client() -> HTTPClient {
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.retryConnectionEstablishment = false
    return HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
  }
}
