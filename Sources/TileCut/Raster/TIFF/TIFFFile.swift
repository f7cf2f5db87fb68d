import CTIFFShim
import Synchronization

/// One directory (image) of a TIFF file. Each thread that reads it uses its own handle.
final class TIFFFile: Sendable {
  let file: SourceFile
  let directory: Int
  private let idle = Mutex<[TIFFHandle]>([])
  private let collected: WarningList

  /// - Parameter warnings: collects libtiff's warnings.
  init(_ file: SourceFile, directory: Int, warnings: WarningList) {
    self.file = file
    self.directory = directory
    collected = warnings
  }

  var path: String { file.path }

  /// Lends a handle positioned at the directory. A handle is discarded if `body` throws.
  func withHandle<Result>(_ body: (TIFFHandle) throws -> Result) throws -> Result {
    let handle = try idle.withLock { $0.popLast() } ?? newHandle()
    ctiff_clear_error(handle.pointer)
    let result: Result
    do {
      result = try body(handle)
    } catch {
      report(handle)
      // What libtiff says of missing bytes is the consequence.
      throw file.remote?.failure ?? error
    }
    report(handle)
    idle.withLock { if $0.count < Self.idleMax { $0.append(handle) } }
    return result
  }

  /// More threads than this are not expected to decode at the same time.
  private static let idleMax = 64

  /// A handle positioned at the directory, for one thread to keep.
  func newHandle() throws -> TIFFHandle {
    let handle = try TIFFHandle(file)
    if directory != 0, ctiff_set_directory(handle.pointer, UInt32(directory)) == 0 {
      throw CutError(
        .badSource, path: path, "directory \(directory) cannot be read: \(handle.takeError())",
        remedy: "the file is damaged; copy or make it again")
    }
    // Reading the layout also asks libjpeg for RGB, which must be done for each handle.
    var layout = ctiff_layout()
    _ = ctiff_read_layout(handle.pointer, &layout)
    return handle
  }

  private func report(_ handle: TIFFHandle) {
    for text in handle.takeWarnings() { collected.add("\(path): libtiff warns: \(text)") }
  }
}

/// One libtiff handle at one directory of a file, with memory to decode into.
///
/// Unchecked `Sendable`: ``TIFFFile`` lends it to one thread at a time.
final class TIFFHandle: @unchecked Sendable {
  let pointer: OpaquePointer
  private let file: SourceFile
  private var scratch: UnsafeMutableRawPointer?
  private var scratchBytes = 0
  /// The number of warnings already reported.
  fileprivate(set) var warningsSeen: Int32 = 0

  /// The largest single allocation of libtiff: the largest block, compressed or not, and some slack.
  static let allocBytesMax: UInt64 = 272 << 20

  /// - Parameter part: the bytes of the file that are the TIFF; nil means all.
  init(_ file: SourceFile, part: Range<Int>? = nil) throws {
    try LazyLibrary.geotiff.require()
    let part = part ?? 0..<file.size
    self.file = file
    var message = [CChar](repeating: 0, count: 512)
    guard
      let pointer = Self.open(file, part, &message)
    else {
      if let failure = file.remote?.failure { throw failure }
      throw CutError(
        .badSource, path: file.path, "is damaged, or no TIFF: \(Self.string(message))",
        remedy: "copy or make it again")
    }
    self.pointer = pointer
  }

  private static func open(_ file: SourceFile, _ part: Range<Int>, _ message: inout [CChar]) -> OpaquePointer? {
    guard let remote = file.remote else {
      return ctiff_open(
        file.descriptor, UInt64(part.lowerBound), UInt64(part.count), file.path, allocBytesMax, &message, message.count)
    }
    // The handle keeps the file, and the file the remote one.
    return ctiff_open_reader(
      { context, target, count, offset in
        let file = Unmanaged<RemoteSourceFile>.fromOpaque(context!).takeUnretainedValue()
        return Int64(file.read(into: target!, count: Int(count), at: Int(offset)) ?? -1)
      }, Unmanaged.passUnretained(remote).toOpaque(), UInt64(part.lowerBound), UInt64(part.count), file.path,
      allocBytesMax, &message,
      message.count)
  }

  deinit {
    ctiff_close(pointer)
    scratch?.deallocate()
  }

  /// Returns and clears libtiff's last error message.
  func takeError() -> String {
    defer { ctiff_clear_error(pointer) }
    let text = String(cString: ctiff_error(pointer))
    return text.isEmpty ? "libtiff does not say why" : text
  }

  /// libtiff's warnings since the last call.
  func takeWarnings() -> [String] {
    var texts: [String] = []
    while let text = ctiff_warning(pointer, warningsSeen) {
      texts.append(String(cString: text))
      warningsSeen += 1
    }
    return texts
  }

  /// The bytes of a block in the file; nil for a missing block or one whose place cannot be read.
  func range(of number: UInt32) -> Range<Int>? {
    var offset: UInt64 = 0
    var bytes: UInt64 = 0
    guard ctiff_block_range(pointer, number, &offset, &bytes) != 0, offset != 0, bytes != 0 else { return nil }
    return Int(offset)..<Int(offset + bytes)
  }

  /// Decodes a block as stored. Returns the number of bytes; 0 for a missing block, -1 for one that cannot be decoded.
  func decode(_ number: UInt32, into memory: UnsafeMutableRawPointer, byteCount: Int) -> Int {
    var offset: UInt64 = 0
    var bytes: UInt64 = 0
    guard ctiff_block_range(pointer, number, &offset, &bytes) != 0 else { return -1 }
    if offset == 0 || bytes == 0 { return 0 }
    let count = ctiff_read_block(pointer, number, memory, Int64(byteCount))
    // Some decoders report an error and still return data; any error counts.
    return ctiff_error(pointer)[0] == 0 ? Int(count) : -1
  }

  /// An ASCII tag, up to its null byte.
  func text(tag: UInt32) -> String? {
    var start: UnsafePointer<CChar>?
    let count = ctiff_text(pointer, tag, &start)
    guard count > 0, let start else { return nil }
    let bytes = UnsafeBufferPointer(start: start, count: Int(count)).prefix { $0 != 0 }
    return String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// A tag of doubles; empty if absent.
  func doubles(tag: UInt32) -> [Double] {
    var start: UnsafePointer<Double>?
    let count = ctiff_doubles(pointer, tag, &start)
    return start.map { Array(UnsafeBufferPointer(start: $0, count: Int(count))) } ?? []
  }

  /// Why libtiff's RGBA interface does not support the directory, or nil if it does.
  func rgbaRefusal() -> String? {
    var reason = [CChar](repeating: 0, count: 1024)
    return ctiff_rgba_ok(pointer, &reason) != 0 ? nil : Self.string(reason)
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
