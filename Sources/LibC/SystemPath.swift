/// Names of files between the system, to which they are bytes, and `String`, which is valid UTF-8.
///
/// A byte that is no part of valid UTF-8 becomes one of the private code points U+F780 to U+F7FF, which end in it
/// (`\xFC` is U+F7FC), and becomes the byte again where the system gets the path. So names of any bytes stay `String`
/// everywhere else. A name that holds such code points itself has its UTF-8 bytes treated like that, so the way back is
/// always the same name.
package enum SystemPath {
  /// The code point of a byte from 0x80 on.
  private static let base: UInt32 = 0xf700

  /// A name or text of the system.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    let whole = String(decoding: bytes, as: UTF8.self)
    if whole.utf8.elementsEqual(bytes), !whole.unicodeScalars.contains(where: { $0.escapedByte != nil }) {
      return whole
    }
    var text = String.UnicodeScalarView()
    var parser = Unicode.UTF8.ForwardParser()
    var rest = bytes.makeIterator()
    var at = 0
    while true {
      let count: Int
      switch parser.parseScalar(from: &rest) {
      case .emptyInput: return String(text)
      case .error(let length): count = length
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        count = encoded.count
        if scalar.escapedByte == nil {
          text.append(scalar)
          at += count
          continue
        }
      }
      text.append(contentsOf: bytes[at..<at + count].compactMap { Unicode.Scalar(base + UInt32($0)) })
      at += count
    }
  }

  /// A name or text of the system, which ends with a NUL.
  package static func text(_ pointer: UnsafePointer<CChar>) -> String {
    text(UnsafeRawBufferPointer(start: pointer, count: strlen(pointer)))
  }

  /// The bytes that the system knows a path by.
  package static func bytes(_ path: String) -> [UInt8] {
    // The first byte of the private code points.
    guard path.utf8.contains(0xef) else { return Array(path.utf8) }
    var bytes: [UInt8] = []
    for scalar in path.unicodeScalars {
      if let byte = scalar.escapedByte { bytes.append(byte) } else { bytes += UTF8.encode(scalar)! }
    }
    return bytes
  }

  /// Passes a path to a function of C.
  package static func withPointer<Result>(_ path: String, _ body: (UnsafePointer<CChar>) throws -> Result) rethrows
    -> Result
  {
    guard path.utf8.contains(0xef) else { return try path.withCString(body) }
    return try (bytes(path) + [0]).withUnsafeBufferPointer {
      try $0.withMemoryRebound(to: CChar.self) { try body($0.baseAddress!) }
    }
  }
}

extension Unicode.Scalar {
  /// The byte of a name that the code point stands for; nil for all others.
  package var escapedByte: UInt8? { (0xf780...0xf7ff).contains(value) ? UInt8(value & 0xff) : nil }
}
