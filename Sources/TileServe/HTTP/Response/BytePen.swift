/// Writes into memory that is known to be large enough; a piece that does not fit is a programming error.
struct BytePen {
  private let bytes: UnsafeMutableRawBufferPointer
  /// Bytes written so far.
  private(set) var count = 0

  init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

  mutating func write(_ piece: UnsafeRawBufferPointer) {
    guard let from = piece.baseAddress, !piece.isEmpty else { return }
    precondition(count + piece.count <= bytes.count, "a response is longer than was reckoned")
    (bytes.baseAddress! + count).copyMemory(from: from, byteCount: piece.count)
    count += piece.count
  }

  mutating func write(_ text: String) {
    var text = text
    text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }

  mutating func write(_ tag: EntityTag) {
    tag.withBytes { write($0) }
  }

  /// A number from 0 up.
  mutating func write(decimal number: Int) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var first = 20
      var rest = number
      repeat {
        first -= 1
        digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      write(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: digits[first..<20])))
    }
  }
}
