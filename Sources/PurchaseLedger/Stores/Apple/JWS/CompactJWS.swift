/// The three parts of a compact JWS (RFC 7515, section 7.1), as places in the bytes.
struct CompactJWS {
  let bytes: [UInt8]
  let header: Range<Int>
  let payload: Range<Int>
  let signature: Range<Int>

  /// White space around the whole is no part of it; a file may end with a newline.
  init(_ bytes: [UInt8]) throws(Refusal) {
    let whole = bytes.trimmedRange
    guard let first = bytes[whole].firstIndex(of: UInt8(ascii: ".")),
      let second = bytes[(first + 1)..<whole.upperBound].firstIndex(of: UInt8(ascii: ".")),
      !bytes[(second + 1)..<whole.upperBound].contains(UInt8(ascii: "."))
    else { throw Refusal(.malformed, "not a compact JWS: it has not three parts between points") }
    self.bytes = bytes
    header = whole.lowerBound..<first
    payload = (first + 1)..<second
    signature = (second + 1)..<whole.upperBound
  }

  /// The payload, not verified.
  func decodedPayload() throws(Refusal) -> JSONValue {
    guard let text = Base64.decode(bytes[payload]) else { throw Refusal(.malformed, "the payload is not base64url") }
    do { return try JSONReader.read(text) } catch { throw Refusal(.malformed, "the payload is not JSON: \(error)") }
  }

  func decodedHeader() throws(Refusal) -> JSONValue {
    guard let text = Base64.decode(bytes[header]) else { throw Refusal(.malformed, "the header is not base64url") }
    do { return try JSONReader.read(text) } catch { throw Refusal(.malformed, "the header is not JSON: \(error)") }
  }
}

extension [UInt8] {
  /// The range without white space at both ends.
  var trimmedRange: Range<Int> {
    var (start, end) = (0, count)
    while start < end, self[start].isSpace { start += 1 }
    while end > start, self[end - 1].isSpace { end -= 1 }
    return start..<end
  }
}

extension UInt8 {
  /// JSON's white space.
  var isSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}
