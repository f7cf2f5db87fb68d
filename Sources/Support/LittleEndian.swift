/// Numbers of file formats whose lowest byte comes first.
extension [UInt8] {
  package mutating func append(littleEndian number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  package init(littleEndian number: some FixedWidthInteger) {
    self = Swift.withUnsafeBytes(of: number.littleEndian) { [UInt8]($0) }
  }
}

extension UnsafeRawBufferPointer {
  /// The number at an offset. The caller has checked that the bytes exist.
  package func littleEndian<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
    Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }
}
