/// Bytes that begin as an image of the format does, then go on as the seed says.
func blob(_ seed: UInt8, count: Int = 100) -> [UInt8] {
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ seed }
}
