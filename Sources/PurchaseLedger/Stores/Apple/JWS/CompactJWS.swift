import Support

/// The three parts of a compact JWS (RFC 7515, section 7.1), as places in the bytes.
struct CompactJWS {
  let bytes: [UInt8]
  let header: Range<Int>
  let payload: Range<Int>
  let signature: Range<Int>

  /// White space around the whole is no part of it; a file may end with a newline.
  init(_ bytes: [UInt8]) throws(Refusal) {
    let whole = bytes.trimmedRange
    // From the end, since most of a JWS is its header: a point too many in there fits no base64 and no known header.
    guard let second = bytes.last(UInt8(ascii: "."), before: whole.upperBound, from: whole.lowerBound),
      let first = bytes.last(UInt8(ascii: "."), before: second, from: whole.lowerBound)
    else { throw Refusal(.malformed, "not a compact JWS: it has not three parts between points") }
    self.bytes = bytes
    header = whole.lowerBound..<first
    payload = (first + 1)..<second
    signature = (second + 1)..<whole.upperBound
  }

  /// The payload, not verified.
  func decodedPayload() throws(Refusal) -> JSONValue {
    guard let text = Base64.decode(bytes[payload]) else { throw Refusal(.malformed, "the payload is not base64url") }
    do { return try JSONReader.read(text, duplicates: .kept) } catch {
      throw Refusal(.malformed, "the payload is not JSON: \(error)")
    }
  }

  func decodedHeader() throws(Refusal) -> JSONValue {
    guard let text = Base64.decode(bytes[header]) else { throw Refusal(.malformed, "the header is not base64url") }
    do { return try JSONReader.read(text, duplicates: .kept) } catch {
      throw Refusal(.malformed, "the header is not JSON: \(error)")
    }
  }
}

extension [UInt8] {
  fileprivate func last(_ byte: UInt8, before end: Int, from start: Int) -> Int? {
    withUnsafeBufferPointer { bytes in
      var index = end
      while index > start {
        index -= 1
        if bytes[index] == byte { return index }
      }
      return nil
    }
  }

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
