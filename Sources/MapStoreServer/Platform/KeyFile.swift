/// Files with secret keys.
enum KeyFile {
  /// - Throws: ``StoreError`` when it cannot be read.
  static func bytes(_ path: String) throws -> [UInt8] {
    guard let bytes = try? OpenFile(path)?.allBytes(countMax: 1 << 16) else {
      throw StoreError(.unreadableInput, at: path, "the key cannot be read", remedy: "check the name and permissions")
    }
    return bytes
  }
}
