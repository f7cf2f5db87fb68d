package import PurchaseLedger
import Support

/// A time in which a simulated store does not answer as it should. Times are milliseconds since 1970.
package struct StoreFault: Sendable {
  package enum Kind: Sendable, Hashable {
    /// No answer at all.
    case closed
    /// Half an answer.
    case truncated
    /// 500 or 503, with the store's own body.
    case failing(Int)
    /// 503 with a page for people.
    case maintenance
    /// 404 with a page for people, as a gateway on the way sends.
    case gateway
    case unauthorised
    /// 403: the key may not do that.
    case forbidden
    /// Too many requests: Apple's 429, Google's 403 `rateLimitExceeded`.
    case rateLimited
    /// Google's 403 `quotaExceeded`; Apple's 429.
    case quotaExceeded
    /// Google's 409 `concurrentUpdate`.
    case conflict
    /// Google's 410.
    case gone
    /// Revisions of a history and page tokens that were given before are refused.
    case forgotten
  }

  /// What the store is asked.
  package enum Call: Sendable, Hashable, CaseIterable {
    case token
    case list
    case history
    case purchase
    case acknowledgement
  }

  package var store: Store
  package var kind: Kind
  package var times: Range<Int64>
  package var calls: Set<Call>
  /// Of so many requests in a row one fails.
  package var every: Int

  package init(
    _ store: Store, _ kind: Kind, _ times: Range<Int64>, calls: Set<Call> = Set(Call.allCases), every: Int = 1
  ) {
    (self.store, self.kind, self.times, self.calls, self.every) = (store, kind, times, calls, every)
  }

  func concerns(_ store: Store, _ call: Call, at time: Int64, number: Int) -> Bool {
    self.store == store && times.contains(time) && calls.contains(call) && number % every == 0
  }
}

extension StoreServer.Reply {
  static let page = "<html><head><title>Error</title></head><body>We will be back soon.</body></html>"

  static func html(_ status: Int) -> Self { .json(status, page, headers: ["content-type": "text/html"]) }

  /// With the store's time.
  func dated(_ time: Int64) -> Self {
    guard case .json(let status, let text, var headers) = self else { return self }
    headers["Date"] = HTTPDate.text(Int(time / 1000))
    return .json(status, text, headers: headers)
  }
}
