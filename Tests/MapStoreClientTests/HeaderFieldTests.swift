import Foundation
import TestSupport
import Testing

@testable import MapStoreClient
import Support

@Suite(.ownThread) struct HeaderFieldTests {
  @Test(arguments: [
    ("bytes 0-9/100", 0..<10, 100 as Int?), ("bytes 5-5/6", 5..<6, 6), ("Bytes 7-8/*", 7..<9, nil),
  ])
  func contentRangeIsRead(text: String, range: Range<Int>, total: Int?) throws {
    let field = try #require(ContentRange(text))
    #expect(field.range == range && field.total == total)
  }

  @Test(arguments: [
    "", "bytes", "bytes */100", "bytes 9-5/100", "bytes 0-100/100", "bytes -5/100", "bytes 0-9", "bytes 0-9/x",
    "items 0-9/100",
    "bytes 0-9/100 ", "bytes +0-9/100", "bytes 0-99999999999999999999/100", "bytes 0-9/100,20-29/100",
  ])
  func otherContentRangesAreNone(text: String) { #expect(ContentRange(text) == nil) }

  /// RFC 9110's own example, leap days, and years that are none.
  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000 as Int64?), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199_000), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200_000),
    ("Wed, 31 Dec 2099 12:00:00 GMT", 4_102_401_600_000), ("Sunday, 06-Nov-94 08:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, 06 Xyz 1994 08:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 25:00:00 GMT", nil),
  ])
  func httpDates(text: String, expected: Int64?) { #expect(HTTPDate.milliseconds(text) == expected) }

  @Test func datesAsFoundationHasThem() {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    for second in stride(from: 0.0, to: 4_000_000_000, by: 7_654_321) {
      let text = format.string(from: Date(timeIntervalSince1970: second))
      #expect(HTTPDate.milliseconds(text) == Int64(second) * 1000, "\(text)")
    }
  }

  @Test func retryAfterInBothForms() {
    #expect(RetryAfter.seconds("17", now: 0) == 17)
    #expect(RetryAfter.seconds("-1", now: 0) == nil)
    #expect(RetryAfter.seconds("Thu, 01 Jan 1970 00:01:00 GMT", now: 20_000) == 40)
    #expect(RetryAfter.seconds("Thu, 01 Jan 1970 00:00:00 GMT", now: 20_000) == 0)
    #expect(RetryAfter.seconds("soon", now: 0) == nil)
  }

  @Test func waitsGrowAndAreSpread() {
    let retry = RetryRule()
    for attempt in 1...20 {
      let waits = (0..<200).map { _ in retry.delay(attempt) }
      #expect(waits.allSatisfy { (0...min(30, 0.5 * Double(1 << (attempt - 1)))).contains($0) })
      #expect(Set(waits).count > 150)
    }
    #expect(retry.delay(1, asked: 9) >= 9)
  }

  @Test(arguments: ["../up", "a/b", ".hidden", "a\nb", String(repeating: "x", count: 201)])
  func namesThatCouldLeaveTheFolderAreRefused(name: String) {
    #expect(!ShelfPart(region: name).isSafe)
    #expect(
      !ShelfPart(region: "alps", parcel: name).isSafe && !ShelfPart(region: "alps", parcel: name + ".mbtiles").isSafe)
  }
}
