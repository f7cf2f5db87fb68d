import CTIFFShim

/// One libtiff handle at one directory of a file, with memory to decode into.
///
/// Unchecked: ``TIFFFile`` lends it to one thread at a time.
final class TIFFHandle: @unchecked Sendable {
  let pointer: OpaquePointer
  private let file: OpenFile
  private var scratch: UnsafeMutableRawPointer?
  private var scratchBytes = 0
  /// Warnings already reported.
  fileprivate(set) var warningsSeen: Int32 = 0

  /// No single allocation of libtiff may exceed this: the largest block, compressed or not, and some slack.
  static let allocBytesMax: UInt64 = 272 << 20

  init(_ file: OpenFile) throws {
    self.file = file
    var message = [CChar](repeating: 0, count: 512)
    guard
      let pointer = ctiff_open(
        file.descriptor, UInt64(file.size), file.path, Self.allocBytesMax, &message, message.count)
    else {
      throw CutError(
        .badSource, path: file.path, "is damaged, or no TIFF: \(Self.string(message))",
        remedy: "copy or make it again")
    }
    self.pointer = pointer
  }

  deinit {
    ctiff_close(pointer)
    scratch?.deallocate()
  }

  /// libtiff's words for what went wrong last; reading forgets them.
  func takeError() -> String {
    defer { ctiff_clear_error(pointer) }
    let text = String(cString: ctiff_error(pointer))
    return text.isEmpty ? "libtiff does not say why" : text
  }

  /// What libtiff found odd since the last call.
  func takeWarnings() -> [String] {
    var texts: [String] = []
    while let text = ctiff_warning(pointer, warningsSeen) {
      texts.append(String(cString: text))
      warningsSeen += 1
    }
    return texts
  }

  /// Decodes a block as stored. Returns the bytes decoded; 0 for a block never written, -1 for one that cannot be decoded.
  func decode(_ number: UInt32, into memory: UnsafeMutableRawPointer, byteCount: Int) -> Int {
    var offset: UInt64 = 0
    var bytes: UInt64 = 0
    guard ctiff_block_range(pointer, number, &offset, &bytes) != 0 else { return -1 }
    if offset == 0 || bytes == 0 { return 0 }
    let count = ctiff_read_block(pointer, number, memory, Int64(byteCount))
    // Some decoders complain and yet return what they have; what libtiff calls an error is one.
    return ctiff_error(pointer)[0] == 0 ? Int(count) : -1
  }

  /// Memory for decoding, valid until the next call.
  func scratch(byteCount: Int) -> UnsafeMutableRawPointer {
    let bytes = byteCount + PixelForm.slackBytes
    if let scratch, scratchBytes >= bytes { return scratch }
    scratch?.deallocate()
    let fresh = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
    (scratch, scratchBytes) = (fresh, bytes)
    return fresh
  }

  static func string(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
