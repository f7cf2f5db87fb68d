import CSystemShim

#if canImport(Darwin)
  package import Darwin
#elseif canImport(Musl)
  package import Musl
#else
  package import Glibc
#endif

/// An open file whose pieces are read from the page cache only, never from a disk. For any number of threads at a time.
package final class ResidentReader: Sendable {
  private let descriptor: Int32
  /// In-memory file systems fail non-blocking reads, although reading them never blocks.
  private let isInMemory: Bool
  /// The file as mapped when it was opened; empty if it cannot be mapped. Only system calls access the mapping: if the file is truncated they fail, where an
  /// access of ours would end the process.
  private nonisolated(unsafe) let mapping: UnsafeRawBufferPointer

  /// - Parameter descriptor: is duplicated.
  package init?(duplicating descriptor: Int32) {
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

  deinit {
    if let start = mapping.baseAddress { munmap(UnsafeMutableRawPointer(mutating: start), mapping.count) }
    close(descriptor)
  }

  /// Fills an I/O vector with the mapped addresses of pieces, for a system call that only takes memory. Valid as long as this object.
  ///
  /// - Parameters:
  ///   - room: one element for each piece.
  ///   - areResident: true when they were in memory a moment ago; otherwise the system is asked.
  /// - Returns: false when the call would block on a disk, or that is unknown.
  package func map(
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
  /// - Parameter room: as many bytes as all pieces have.
  /// - Returns: false when not all are in memory, or in the file; the contents of `room` are then undefined.
  package func read(_ pieces: [FilePiece], into room: UnsafeMutableRawPointer) -> Bool {
    // Most SQLite pages of a blob are adjacent, with a few bytes between its pieces: one call reads all, and those bytes are discarded.
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

/// A range of bytes of a file.
package struct FilePiece: Hashable, Sendable {
  package var offset: Int64
  package var count: Int
}
