import Foundation
import Support
import TestSupport
import Testing

@Suite(.ownThread) struct HTTPFieldTests {
  @Test(arguments: [
    ("gzip", true), ("GZIP", true), ("x-gzip", true), ("br, gzip;q=0.5", true), ("*", true), ("*;q=0.1, br", true),
    ("gzip;q=0", false), ("gzip; q=0.0, *", false), ("*;q=0", false), ("br", false), ("", false), ("gzip;q=x", false),
    ("identity, *;q=0, gzip", true), ("gzipped", false),
  ])
  func codingsAreAccepted(_ field: String, _ accepts: Bool) {
    #expect(AcceptEncoding.accepts("gzip", field) == accepts)
  }

  @Test(
    arguments: [
      ("for=192.0.2.43", nil, nil, "192.0.2.43"), ("proto=https;host=a.example;by=1", "https", "a.example", nil),
      (
        "for=\"[2001:db8::1]:47\", for=unknown;proto=http, for=198.51.100.17", nil, nil,
        "[2001:db8::1]:47, unknown, 198.51.100.17"
      ),
      ("FOR=\"_a,b;c\" ; host=\"x\\\"y\"", nil, "x\"y", "_a,b;c"), (" , ;=;for", nil, nil, nil), ("", nil, nil, nil),
    ] as [(String, String?, String?, String?)])
  func forwardedElementsAreRead(_ field: String, _ proto: String?, _ host: String?, _ addresses: String?) {
    let found = ForwardedField(field)
    #expect(found.proto == proto && found.host == host && found.addresses == addresses, "\(found)")
  }

  @Test func entityTagsAreComparedWeaklyAndStrongly() {
    #expect(EntityTagList.matches(#""a" , W/"b""#, #""b""#) && !EntityTagList.matchesStrongly(#""a", W/"b""#, #""b""#))
    #expect(EntityTagList.matchesStrongly("\t\"a\" ,\"b\"", #""b""#))
    for field in ["*", " * "] {
      #expect(EntityTagList.matches(field, #""b""#) && EntityTagList.matchesStrongly(field, #""b""#))
    }
    #expect(!EntityTagList.matches(#""ab""#, #""b""#) && !EntityTagList.matches("", #""b""#))
  }

  @Test(arguments: [
    (nil, ByteRange.whole), ("bytes=0-0", .part(0..<1)), ("bytes=10-", .unsatisfiable), ("bytes=9-", .part(9..<10)),
    ("bytes=-0", .unsatisfiable), ("bytes=-99", .part(0..<10)), ("bytes=5-4", .whole), ("bytes=0-1,3-4", .whole),
    ("items=0-1", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("bytes=+1-2", .whole), ("bytes=1-2x", .whole),
  ])
  func requestedRangesAreRead(_ field: String?, _ range: ByteRange) {
    #expect(ByteRange(field, byteCount: 10) == range)
  }

  @Test func aRangeIsRequested() {
    #expect(ByteRange.field(0..<1) == "bytes=0-0" && ByteRange.field(5..<10) == "bytes=5-9")
  }

  @Test(arguments: [
    ("bytes 0-9/100", 0..<10, 100 as Int?), ("bytes 5-5/6", 5..<6, 6), ("Bytes 7-8/*", 7..<9, nil),
  ])
  func contentRangesAreRead(text: String, range: Range<Int>, total: Int?) throws {
    let field = try #require(ContentRange(text))
    #expect(field.range == range && field.total == total && ContentRange(field.text) == field)
  }

  @Test(arguments: [
    "", "bytes", "bytes */100", "bytes 9-5/100", "bytes 0-100/100", "bytes -5/100", "bytes 0-9", "bytes 0-9/x",
    "items 0-9/100", "bytes 0-9/100 ", "bytes +0-9/100", "bytes 0-99999999999999999999/100",
    "bytes 0-9/100,20-29/100",
  ])
  func inconsistentContentRangesAreRefused(text: String) { #expect(ContentRange(text) == nil) }

  @Test func retryAfterIsReadInBothForms() {
    #expect(RetryAfter.seconds("17", now: 0) == 17)
    #expect(RetryAfter.seconds("-1", now: 0) == nil)
    #expect(RetryAfter.seconds("Thu, 01 Jan 1970 00:01:00 GMT", now: 20_000) == 40)
    #expect(RetryAfter.seconds("Thu, 01 Jan 1970 00:00:00 GMT", now: 20_000) == 0)
    #expect(RetryAfter.seconds("soon", now: 0) == nil)
    #expect(RetryAfter.seconds("99999999999999999999999", now: 0) == 366 * 86_400.0)
    let now: Int64 = 1_700_000_000_000
    #expect(RetryAfter.seconds("1700000005000", now: now, mayBeTime: true) == 5)
    #expect(RetryAfter.seconds("1700000005000", now: now) == 366 * 86_400.0)
  }

  @Test func clientsAreKnownByTheirCanonicalAddress() {
    #expect(ClientAddress("::ffff:192.0.2.1") == ClientAddress("192.0.2.1"))
    #expect(ClientAddress("2001:DB8:0::1").text == "2001:db8::1")
    #expect(ClientAddress("2001:db8::1").network == ClientAddress("2001:db8::ffff:0:0:2").network)
    #expect(ClientAddress(forwarded: "[2001:db8::1]:443") == ClientAddress("2001:db8::1"))
    #expect(ClientAddress(forwarded: "203.0.113.7:51234") == ClientAddress("203.0.113.7"))
    let client = ClientAddress.client(forwarded: "10.0.0.1, 203.0.113.7, 192.0.2.1") { $0.text == "192.0.2.1" }
    #expect(client?.text == "203.0.113.7")
    #expect(ClientAddress.client(forwarded: "192.0.2.1") { _ in true } == nil)
  }
}

@Suite(.ownThread) struct DateTests {
  /// The example of RFC 9110, leap days, and texts that are no such dates.
  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000 as Int64?), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199_000), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200_000),
    ("Wed, 31 Dec 2099 12:00:00 GMT", 4_102_401_600_000), ("Sunday, 06-Nov-94 08:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, 06 Xyz 1994 08:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 25:00:00 GMT", nil),
  ])
  func httpDatesAreRead(text: String, expected: Int64?) { #expect(HTTPDate.milliseconds(text) == expected) }

  @Test func httpDatesAgreeWithFoundation() {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    for second in stride(from: 0.0, to: 4_000_000_000, by: 7_654_321) {
      let text = format.string(from: Date(timeIntervalSince1970: second))
      #expect(HTTPDate.milliseconds(text) == Int64(second) * 1000 && HTTPDate.text(Int(second)) == text)
    }
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:30:15.250Z", 951_827_415_250), ("1969-12-31T23:59:59Z", -1000),
      ("4001-01-01T00:00:00+0000", 64_092_211_200_000), ("0000-03-01T00:00:00Z", -62_162_035_200_000),
      ("2020-07-22T18:33:14+0100", 1_595_439_194_000), ("2020-07-22T12:03:14-05:30", 1_595_439_194_000),
    ] as [(String, Int64)])
  func internetDatesAreRead(_ text: String, _ milliseconds: Int64) {
    #expect(RFC3339.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    "", "2020-07-22", "2020-07-22T18:33:14", "2020-13-22T18:33:14Z", "2020-07-22T6:33:14 PMZ",
    "2020-07-22T18:33:14+25:00", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
    "2024-04-31T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-32T00:00:00Z",
  ])
  func invalidInternetDatesAreRefused(_ text: String) { #expect(RFC3339.milliseconds(text) == nil) }

  @Test func daysThatDoNotExistAreReadOnRequest() {
    #expect(
      RFC3339.milliseconds("2024-02-30T00:00:00Z", mayNotExist: true) == RFC3339.milliseconds("2024-03-01T00:00:00Z"))
  }
}
