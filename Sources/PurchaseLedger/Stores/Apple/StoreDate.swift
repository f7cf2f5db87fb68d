import Support

/// Dates as Apple's receipts and answers print them, read without any locale.
enum StoreDate {
  /// The field `NAME_ms` of an answer of `verifyReceipt`, else `NAME` where that is UTC; nil where there is none.
  ///
  /// `NAME_pst` and texts in other zones or with a.m. and p.m. are never read: devices of some locales wrote them wrong.
  static func read(_ name: String, in json: JSONValue) throws(Refusal) -> Int64? {
    if let value = json[name + "_ms"], !value.isEmptyText {
      guard let milliseconds = value.integer else {
        throw Refusal(.dateOutOfRange, "\(name)_ms is no date in milliseconds")
      }
      return try FieldRules.date(milliseconds, name + "_ms")
    }
    guard let text = json[name]?.identifier, !text.isEmpty else { return nil }
    // Old answers have milliseconds here (`expires_date`).
    if let milliseconds = Int64(text) { return try FieldRules.date(milliseconds, name) }
    guard let milliseconds = utc(text) else { throw Refusal(.malformed, "\(name) is no date of UTC") }
    return try FieldRules.date(milliseconds, name)
  }

  /// `2020-07-14 19:36:40 Etc/GMT`.
  static func utc(_ text: String) -> Int64? {
    guard text.hasSuffix(" Etc/GMT") else { return nil }
    return rfc3339(String(text.dropLast(8)).replacing(" ", with: "T") + "Z")
  }

  /// RFC 3339, section 5.6, with the zone also as `+0100`; milliseconds since 1970.
  ///
  /// - Parameter mayNotExist: Whether a day that no calendar has, such as 2024-02-30, is read all the same, as the day it would be.
  static func rfc3339(_ text: String, mayNotExist: Bool = false) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"), let year = number(bytes[0..<4]),
      let month = number(bytes[5..<7]), (1...12).contains(month), let day = number(bytes[8..<10]),
      (1...(mayNotExist ? 31 : lastDay(of: month, year))).contains(day), let hour = number(bytes[11..<13]), hour < 24,
      let minute = number(bytes[14..<16]),
      minute < 60, let second = number(bytes[17..<19]), second <= 60
    else { return nil }
    var rest = bytes[19...]
    var fraction: Int64 = 0
    if rest.first == UInt8(ascii: ".") {
      let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
      guard (1...9).contains(digits.count), let value = number(digits.prefix(3)) else { return nil }
      fraction = value * [100, 10, 1][min(digits.count, 3) - 1]
      rest = rest.dropFirst(digits.count + 1)
    }
    guard let zone = zoneMinutes(rest) else { return nil }
    let seconds = (days(year, month, day) * 24 + hour) * 3600 + (minute - zone) * 60 + second
    return seconds * 1000 + fraction
  }

  private static func lastDay(of month: Int64, _ year: Int64) -> Int64 {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }

  private static func zoneMinutes(_ text: ArraySlice<UInt8>) -> Int64? {
    if text.elementsEqual([UInt8(ascii: "Z")]) { return 0 }
    guard let sign = text.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
    let digits = text.dropFirst().filter { $0 != UInt8(ascii: ":") }
    guard digits.count == 4, let hours = number(digits[0..<2]), let minutes = number(digits[2..<4]), hours < 24,
      minutes < 60
    else { return nil }
    return (hours * 60 + minutes) * (sign == UInt8(ascii: "+") ? 1 : -1)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    var value: Int64 = 0
    for digit in digits {
      guard (0x30...0x39).contains(digit) else { return nil }
      value = value * 10 + Int64(digit - 0x30)
    }
    return value
  }

  /// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
