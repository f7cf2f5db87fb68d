/// Bytes that a worker keeps between tiles; grows and never shrinks.
final class ScratchBuffer {
  private(set) var bytes: UnsafeMutableRawPointer
  private(set) var capacity: Int

  init() {
    capacity = 16
    bytes = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { bytes.deallocate() }

  /// At least `byteCount` bytes, 16-byte aligned, of unknown content.
  func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
    if byteCount > capacity {
      bytes.deallocate()
      capacity = byteCount
      bytes = .allocate(byteCount: capacity, alignment: 16)
    }
    return bytes
  }
}
