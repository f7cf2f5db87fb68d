/// Numbers of the file formats that put the lowest byte first. The caller has checked that the bytes are there.
extension UnsafeRawBufferPointer {
  func littleEndian<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
    Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }
}
