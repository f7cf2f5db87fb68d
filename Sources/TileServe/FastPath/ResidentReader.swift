import CSystemShim
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A run of bytes of a file.
struct FilePiece: Hashable, Sendable {
  var offset: Int64
  var count: Int
}

/// An open file that is read from the page cache only, never from a disk. Any number of threads may read at the same
/// time.
final class ResidentReader: Sendable {
  private let descriptor: Int32
  /// A file system in memory (tmpfs) does not support RWF_NOWAIT, and never waits.
  private let isInMemory: Bool
  /// The file mapped into memory; empty if it cannot be mapped. Only system calls access it: for a page that
  /// is gone because the file was truncated they return an error, where an access of this process would be a SIGBUS.
  private nonisolated(unsafe) let mapping: UnsafeRawBufferPointer

  /// - Parameter descriptor: is duplicated.
  init?(duplicating descriptor: Int32) {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return nil }
    self.descriptor = copy
    isInMemory = csystem_is_memory(copy) == 1
    var status = stat()
    let size = fstat(copy, &status) == 0 ? Int(status.st_size) : 0
    let start = size > 0 ? mmap(nil, size, PROT_READ, MAP_SHARED, copy, 0) : MAP_FAILED
    mapping =
      start == MAP_FAILED
      ? UnsafeRawBufferPointer(start: nil, count: 0) : UnsafeRawBufferPointer(start: start, count: size)
  }

  /// The one of an open bundle: created when it is first needed, and closed with the bundle unless a response is being
  /// sent from it.
  static func shared(of bundle: any BundleInFile) -> ResidentReader? {
    if let known = bundle.attachment as? ResidentReader { return known }
    let new = bundle.descriptor.flatMap(ResidentReader.init(duplicating:))
    bundle.attachment = new
    return new
  }

  deinit {
    if let start = mapping.baseAddress { munmap(UnsafeMutableRawPointer(mutating: start), mapping.count) }
    close(descriptor)
  }

  /// Makes the parts for a system call that takes memory, in the mapped file. Valid as long as this object.
  ///
  /// - Parameters:
  ///   - room: one element for each piece.
  ///   - areResident: true if they were in the page cache a moment ago; otherwise that is checked.
  /// - Returns: false if the call would wait for a disk, or that is not known.
  func map(
    _ pieces: [FilePiece], _ room: UnsafeMutableBufferPointer<iovec>, areResident: Bool = false
  ) -> Bool {
    guard pieces.count <= Self.mappedPartsMax else { return false }
    var run: Range<Int64> = 0..<0
    for (place, piece) in zip(room.indices, pieces) {
      let bytes = piece.offset..<(piece.offset + Int64(piece.count))
      guard bytes.upperBound <= mapping.count else { return false }
      room[place] = iovec(
        iov_base: UnsafeMutableRawPointer(mutating: mapping.baseAddress! + Int(piece.offset)), iov_len: piece.count)
      if Self.follows(piece, run.upperBound) {
        run = run.lowerBound..<bytes.upperBound
      } else {
        guard areResident || isResident(run) else { return false }
        run = bytes
      }
    }
    return areResident || isResident(run)
  }

  private func isResident(_ bytes: Range<Int64>) -> Bool {
    isInMemory || csystem_is_resident(descriptor, bytes.lowerBound, Int64(bytes.count)) == 1
  }

  /// Reads pieces into consecutive memory.
  ///
  /// - Parameter room: as many bytes as the pieces have together.
  /// - Returns: false if not all of them are in the page cache; the contents of the room are then undefined.
  func read(_ pieces: [FilePiece], into room: UnsafeMutableRawPointer) -> Bool {
    // SQLite's pages are mostly consecutive, with a few bytes between the pieces of a blob: they are read in one call,
    // and those bytes are dropped.
    withUnsafeTemporaryAllocation(byteCount: Self.gapMax, alignment: 1) { gap in
      withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.partsMax) { parts in
        var place = room
        var next = 0
        while next < pieces.count {
          let start = pieces[next].offset
          var end = start
          var count = 0
          repeat {
            let piece = pieces[next]
            if piece.offset > end {
              parts[count] = iovec(iov_base: gap.baseAddress!, iov_len: Int(piece.offset - end))
              count += 1
            }
            parts[count] = iovec(iov_base: place, iov_len: piece.count)
            count += 1
            place += piece.count
            end = piece.offset + Int64(piece.count)
            next += 1
          } while next < pieces.count && count + 2 <= Self.partsMax && Self.follows(pieces[next], end)
          guard read(parts.baseAddress!, count, start) == Int(end - start) else { return false }
        }
        return true
      }
    }
  }

  private static func follows(_ piece: FilePiece, _ end: Int64) -> Bool {
    piece.offset >= end && piece.offset <= end + Int64(gapMax)
  }

  private func read(_ parts: UnsafePointer<iovec>, _ count: Int, _ offset: Int64) -> Int {
    isInMemory
      ? preadv(descriptor, parts, Int32(count), off_t(offset))
      : csystem_read_resident_parts(descriptor, parts, Int32(count), offset)
  }

  private static let gapMax = 16
  private static let partsMax = 64
  /// Systems accept 1,024 parts in a call.
  private static let mappedPartsMax = 512
}
