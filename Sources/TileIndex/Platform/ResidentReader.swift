import CSystemShim

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A file, kept open for reading pieces of it from the system's memory, never from a disk. Any number of threads may read at the same time.
package final class ResidentReader: Sendable {
  private let descriptor: Int32
  /// File systems that are memory themselves answer no read that may not wait, and no read of theirs waits.
  private let isInMemory: Bool

  /// - Parameter descriptor: is duplicated.
  package init?(duplicating descriptor: Int32) {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return nil }
    self.descriptor = copy
    isInMemory = csystem_is_memory(copy) == 1
  }

  deinit { close(descriptor) }

  /// Reads pieces, one behind the other.
  ///
  /// - Parameter room: as many bytes as the pieces have together.
  /// - Returns: false when not all of them are in memory, or not in the file; the room then holds anything.
  package func read(_ pieces: [FilePiece], into room: UnsafeMutableRawPointer) -> Bool {
    // SQLite's pages mostly follow each other, with a few bytes between the pieces of a blob: they are read in one go, and those bytes thrown away.
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
}
