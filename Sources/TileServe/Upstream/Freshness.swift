import Support

/// How long an answer may be used without asking again (RFC 9111, section 4.2).
enum Freshness {
  /// A server that says a year does not mean more; one that says nothing at all is asked once a minute at most.
  private static let secondsMax = 365 * 86_400
  private static let secondsMin = 60

  /// Seconds since 1970 until which an answer is fresh.
  ///
  /// - Parameters:
  ///   - field: the answer's header fields by their names.
  ///   - fallback: seconds, where the answer says nothing.
  static func expiry(now: Int, fallback: Int, field: (String) -> String?) -> Int {
    let directives = (field("cache-control") ?? "").lowercased().split(separator: ",").map { part in
      part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
    }
    if directives.contains("no-store") || directives.contains("no-cache") { return now + secondsMin }
    func seconds(_ name: String) -> Int? {
      directives.first { $0.hasPrefix("\(name)=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
    }
    let age = field("age").flatMap { Int($0) } ?? 0
    if let lifetime = seconds("s-maxage") ?? seconds("max-age") {
      return now + min(max(min(max(lifetime, 0), secondsMax) - min(max(age, 0), secondsMax), secondsMin), secondsMax)
    }
    if let expires = field("expires") {
      // By the server's own clock where it tells the time. A date that cannot be read has passed.
      let serverNow = field("date").flatMap(HTTPDate.seconds) ?? now
      return now + min(max((HTTPDate.seconds(expires) ?? 0) - serverNow, secondsMin), secondsMax)
    }
    return now + fallback
  }

  /// Seconds that a server wants to be left alone (RFC 9110, section 10.2.3); nil when it says nothing that can be read.
  static func retryAfter(_ text: String?, now: Int) -> Int? {
    text.flatMap { RetryAfter.seconds($0, now: Int64(now) * 1000) }.map { Int($0) }
  }
}
