import LibC

/// The time of day by the system's clock, which may be set.
public enum WallClock {
  /// Milliseconds since 1970.
  @Sendable public static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Seconds since 1970.
  package static var seconds: Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec
  }

  /// Seconds since 1970, and nanoseconds.
  package static var precise: (seconds: Int, nanoseconds: Int) {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return (time.tv_sec, time.tv_nsec)
  }

  /// The same as the system sets it on files: on Linux a clock that goes on with the system's ticks.
  package static var ofFiles: (seconds: Int, nanoseconds: Int) {
    #if os(Linux)
      var time = timespec()
      clock_gettime(CLOCK_REALTIME_COARSE, &time)
      return (time.tv_sec, time.tv_nsec)
    #else
      return precise
    #endif
  }
}

/// For durations: does not change when the wall clock is set.
package enum MonotonicClock {
  /// Seconds since some moment in the past.
  package static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// What the current thread has computed, without what it waited.
package enum ThreadClock {
  package static var nanoseconds: Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}

/// A day of the Gregorian calendar. Computed without a calendar library, which would need Foundation and a locale.
struct CivilDate {
  var year: Int
  var month: Int
  var day: Int

  init(year: Int, month: Int, day: Int) { (self.year, self.month, self.day) = (year, month, day) }

  /// - Parameter days: since 1970-01-01. Years begin in March here, so that the leap day is the last one.
  init(daysSince1970 days: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
  }

  var daysSince1970: Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  var daysInMonth: Int {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }
}

/// Dates of HTTP (RFC 9110, section 5.6.7), in whole seconds since 1970.
package enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// `Sun, 06 Nov 1994 08:49:37 GMT`
  package static func text(_ seconds: Int) -> String {
    let seconds = max(seconds, 0)
    let (day, time) = (seconds / 86400, seconds % 86400)
    let date = CivilDate(daysSince1970: day)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(days[day % 7]), \(two(date.day)) \(months[date.month - 1]) \(date.year) "
      + "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
  }

  /// Reads the one form that may be sent; nil for others, which are ignored as unreadable dates are.
  package static func seconds(_ text: String) -> Int? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT", let day = Int(parts[1]),
      let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3])
    else { return nil }
    let time = parts[4].split(separator: ":").compactMap { Int($0) }
    guard time.count == 3, (1970...9999).contains(year), (1...31).contains(day), (0...23).contains(time[0]),
      (0...59).contains(time[1]), (0...60).contains(time[2])
    else { return nil }
    let days = CivilDate(year: year, month: month + 1, day: day).daysSince1970
    return days * 86400 + time[0] * 3600 + time[1] * 60 + time[2]
  }

  /// The same in milliseconds.
  package static func milliseconds(_ text: String) -> Int64? { seconds(text).map { Int64($0) * 1000 } }
}

/// Timestamps of the Internet (RFC 3339, section 5.6): `2020-07-14T19:36:40.123Z`, with the zone also as `+0100`.
package enum RFC3339 {
  /// Milliseconds since 1970; nil for other texts.
  ///
  /// - Parameter mayNotExist: whether a day that no calendar has, such as 2024-02-30, is read as the day that it would
  ///   be.
  package static func milliseconds(_ text: String, mayNotExist: Bool = false) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), (1...12).contains(month),
      let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]), hour < 24,
      let minute = number(bytes[14..<16]), minute < 60, let second = number(bytes[17..<19]), second <= 60
    else { return nil }
    let date = CivilDate(year: year, month: month, day: day)
    guard (1...(mayNotExist ? 31 : date.daysInMonth)).contains(day) else { return nil }
    var rest = bytes[19...]
    var fraction = 0
    if rest.first == UInt8(ascii: ".") {
      let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
      guard (1...9).contains(digits.count), let value = number(digits.prefix(3)) else { return nil }
      fraction = value * [100, 10, 1][min(digits.count, 3) - 1]
      rest = rest.dropFirst(digits.count + 1)
    }
    guard let zone = zoneMinutes(rest) else { return nil }
    let seconds = (date.daysSince1970 * 24 + hour) * 3600 + (minute - zone) * 60 + second
    return Int64(seconds) * 1000 + Int64(fraction)
  }

  private static func zoneMinutes(_ text: ArraySlice<UInt8>) -> Int? {
    if text.elementsEqual([UInt8(ascii: "Z")]) { return 0 }
    guard let sign = text.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
    let digits = text.dropFirst().filter { $0 != UInt8(ascii: ":") }
    guard digits.count == 4, let hours = number(digits[0..<2]), let minutes = number(digits[2..<4]), hours < 24,
      minutes < 60
    else { return nil }
    return (hours * 60 + minutes) * (sign == UInt8(ascii: "+") ? 1 : -1)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    var value = 0
    for digit in digits {
      guard (0x30...0x39).contains(digit) else { return nil }
      value = value * 10 + Int(digit - 0x30)
    }
    return value
  }
}
