#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Times as text, in UTC; from milliseconds since 1970.
package enum TimeText {
  /// RFC 3339 to the second, for programs: `2026-11-21T15:00:00Z`.
  package static func rfc3339(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
  }

  /// To the minute, for people: `2026-11-21 15:00 UTC`.
  static func minute(_ milliseconds: Int64) -> String {
    rfc3339(milliseconds).prefix(16).replacing("T", with: " ") + " UTC"
  }

  /// A span of time in its largest unit.
  static func age(_ milliseconds: Int64) -> String {
    let minutes = max(0, milliseconds) / 60_000
    func counted(_ number: Int64, _ unit: String) -> String { "\(number) \(unit)\(number == 1 ? "" : "s")" }
    if minutes < 60 { return counted(minutes, "minute") }
    return minutes < 2880 ? counted(minutes / 60, "hour") : counted(minutes / 1440, "day")
  }
}
