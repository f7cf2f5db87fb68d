import Foundation

/// The `Retry-After` field as stores fill it: seconds, an HTTP date (RFC 9110, 10.2.3), or, by Apple, milliseconds since 1970.
enum RetryAfter {
  /// Seconds from `now`, which is milliseconds since 1970; nil when it is none of these.
  static func seconds(_ text: String, now: Int64) -> Double? {
    if let number = Int64(text) {
      guard number >= 0 else { return nil }
      return number > 100_000_000_000 ? max(0, Double(number - now) / 1000) : Double(number)
    }
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    return format.date(from: text).map { max(0, $0.timeIntervalSince1970 - Double(now) / 1000) }
  }
}
