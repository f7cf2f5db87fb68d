import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Makes requests of a store's API: limited in rate, repeated where that may help.
struct StoreRequests: Sendable {
  struct Request: Sendable {
    var method: String = "GET"
    var url: String
    var contentType: String?
    var body: [UInt8]?
  }

  let client: HTTPClient
  let limiter: RateLimiter
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
        let value = try? JSONReader.read(body)
        if (200..<300).contains(status) || others.contains(status) {
          if let answer = try accept(status, value) { return answer }
          complaint = "an answer that is cut off or empty"
        } else {
          complaint = Self.complaint(status, value)
          guard isRetryable(status, value) else {
            throw failure(
              request, "the store answered \(complaint)", [400, 404, 410].contains(status) ? .notInStore : .store)
          }
          if let asked = headers.first(name: "Retry-After").flatMap({ RetryAfter.seconds($0, now: clock.now()) }) {
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
        complaint = "\(error)"
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
      .compactMap { $0 }.joined(separator: " ")
  }
}
