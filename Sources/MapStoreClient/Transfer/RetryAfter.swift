/// The `Retry-After` field (RFC 9110, section 10.2.3): seconds, or an HTTP date.
enum RetryAfter {
  /// Nobody waits longer, and longer ones are no numbers of seconds any more.
  private static let secondsMax = 366 * 86_400.0

  /// Seconds from `now`, which is milliseconds since 1970; nil when it is neither. More than a year is a year.
  static func seconds(_ text: String, now: Int64) -> Double? {
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return min(Double(text) ?? secondsMax, secondsMax)
    }
    return HTTPDate.milliseconds(text).map { min(max(0, (Double($0) - Double(now)) / 1000), secondsMax) }
  }
}

/// A date of HTTP in its one current form, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Milliseconds since 1970; nil for another text.
  static func milliseconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]), (1...31).contains(day),
      let month = months.firstIndex(of: String(words[2])), let year = Int64(words[3]), (1970...9999).contains(year)
    else { return nil }
    let time = words[4].split(separator: ":").map { Int64($0) }
    guard time.count == 3, let hour = time[0], let minute = time[1], let second = time[2], (0..<24).contains(hour),
      (0..<60).contains(minute), (0...60).contains(second)
    else { return nil }
    // Days since 1970 of the proleptic Gregorian calendar, with years that begin in March.
    let shifted = year - (month < 2 ? 1 : 0)
    let dayOfYear = (153 * Int64((month + 10) % 12) + 2) / 5 + day - 1
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000
  }
}
