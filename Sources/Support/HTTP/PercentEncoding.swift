/// Percent-encoding of parts of URLs (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// A path segment or query value: leaves unreserved characters as they are, all others become `%XX` of their UTF-8.
  package static func encode(_ text: String) -> String { encode(text) { _ in false } }

  /// A path segment with the comma left as it is: it joins the layers of a composite. Quotes, slashes, braces of URL
  /// templates and all that is not ASCII never stand bare.
  package static func segment(_ text: String) -> String { encode(text) { $0 == UInt8(ascii: ",") } }

  /// The bytes that a text stands for; nil where two hexadecimal digits do not follow a `%`.
  ///
  /// - Parameter plusIsSpace: whether `+` is a space, as in queries that forms made.
  package static func decode(_ text: Substring.UTF8View, plusIsSpace: Bool = false) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(Hexadecimal.value), let low = rest.popFirst().flatMap(Hexadecimal.value)
        else { return nil }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return bytes
  }

  private static func encode(_ text: String, bare: (UInt8) -> Bool) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isUnreserved(byte) || bare(byte) {
        encoded.append(byte)
      } else {
        encoded.append(UInt8(ascii: "%"))
        encoded.append(digits[Int(byte >> 4)])
        encoded.append(digits[Int(byte & 15)])
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }
}
