/// Dates of HTTP (RFC 9110, section 5.6.7), in whole seconds since 1970.
package enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// `Sun, 06 Nov 1994 08:49:37 GMT`
  package static func text(_ seconds: Int) -> String {
    let seconds = max(seconds, 0)
    let (day, time) = (seconds / 86400, seconds % 86400)
    let date = civil(day)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(days[day % 7]), \(two(date.day)) \(months[date.month - 1]) \(date.year) "
      + "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
  }

  /// Reads the one form that may be sent; nil for others, which are ignored as a date that cannot be read is.
  package static func seconds(_ text: String) -> Int? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT", let day = Int(parts[1]),
      let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3])
    else { return nil }
    let time = parts[4].split(separator: ":").compactMap { Int($0) }
    guard time.count == 3, (1970...9999).contains(year), (1...31).contains(day), (0...23).contains(time[0]),
      (0...59).contains(time[1]), (0...60).contains(time[2])
    else { return nil }
    return Self.day(year: year, month: month + 1, day: day) * 86400 + time[0] * 3600 + time[1] * 60 + time[2]
  }

  /// The same in milliseconds.
  package static func milliseconds(_ text: String) -> Int64? { seconds(text).map { Int64($0) * 1000 } }

  /// Days since 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that the leap day comes last.
  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func day(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year % 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

/// The `Retry-After` field (RFC 9110, section 10.2.3): seconds, or an HTTP date.
package enum RetryAfter {
  /// Nobody waits longer, and longer ones are no numbers of seconds any more.
  private static let secondsMax = 366 * 86_400.0
  /// A number above this is no number of seconds but Apple's milliseconds since 1970: 1973 in one, 3,170 years in the other.
  private static let millisecondsMin = 100_000_000_000.0

  /// Seconds from `now`, which is milliseconds since 1970; nil for another text. More than a year is a year.
  ///
  /// - Parameter mayBeTime: whether a number may be milliseconds since 1970, as Apple's servers send it.
  package static func seconds(_ text: String, now: Int64, mayBeTime: Bool = false) -> Double? {
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      let number = Double(text) ?? .infinity
      let seconds = mayBeTime && number > millisecondsMin ? max(0, (number - Double(now)) / 1000) : number
      return min(seconds, secondsMax)
    }
    return HTTPDate.milliseconds(text).map { min(max(0, (Double($0) - Double(now)) / 1000), secondsMax) }
  }
}
