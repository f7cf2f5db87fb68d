import CSystemShim
import LibC
import Synchronization

/// Bytes in pages of their own, which nobody can write, this process neither. The system may send them without a copy:
/// pages that a socket still has stay as they are until the client has read them, also when this object is gone.
///
/// Bodies are sent so from such copies alone, never from a bundle's file, which other programs may change after it was
/// checked.
final class SharedPages: Sendable {
  /// The bytes; valid as long as this object is.
  nonisolated(unsafe) let bytes: UnsafeRawBufferPointer

  /// Smaller bodies are copied in less time than their pages are passed on.
  static let bytesMin = 16384
  /// The system limits the mappings of a process (65,530 on Linux), and other parts need some.
  private static let countMax = 16384
  private static let count = Atomic(0)

  /// Nil where the system has no room, or sends no pages.
  init?(copying source: UnsafeRawBufferPointer) {
    guard source.count >= Self.bytesMin, csystem_can_move_pages() == 1 else { return nil }
    guard Self.count.add(1, ordering: .relaxed).newValue <= Self.countMax,
      let start = mmap(nil, source.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0), start != MAP_FAILED
    else {
      Self.count.subtract(1, ordering: .relaxed)
      return nil
    }
    start.copyMemory(from: source.baseAddress!, byteCount: source.count)
    mprotect(start, source.count, PROT_READ)
    bytes = UnsafeRawBufferPointer(start: start, count: source.count)
  }

  deinit {
    munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress!), bytes.count)
    Self.count.subtract(1, ordering: .relaxed)
  }

  /// The memory that it takes.
  var byteCount: Int { (bytes.count + 4095) / 4096 * 4096 }
}

/// Moves pages to sockets: `vmsplice` into a pipe, `splice` from it (Linux).
///
/// One for each event loop, used on it only. It is empty between responses.
final class PagePipe {
  private var ends: (out: Int32, in: Int32)?

  deinit { closeEnds() }

  /// - Returns: how many bytes the socket took. The rest has to be sent another way, which also finds out whether the
  ///   connection is broken.
  func send(_ pages: SharedPages, to socket: Int32) -> Int {
    var sent = 0
    while sent < pages.bytes.count, let ends = openEnds() {
      let rest = UnsafeRawBufferPointer(rebasing: pages.bytes[sent...])
      // As many as fit into the pipe, usually all.
      var left = csystem_put_pages(ends.in, rest.baseAddress, rest.count)
      guard left > 0 else { break }
      while left > 0 {
        let moved = csystem_move_pages(ends.out, socket, left)
        if moved < 0, errno == EINTR { continue }
        guard moved > 0 else {
          // What is still in the pipe is dropped with it.
          closeEnds()
          return sent
        }
        left -= moved
        sent += moved
      }
    }
    return sent
  }

  private func openEnds() -> (out: Int32, in: Int32)? {
    if let ends { return ends }
    var pair: [Int32] = [-1, -1]
    guard csystem_open_page_pipe(&pair, Self.byteCount) == 0 else { return nil }
    ends = (pair[0], pair[1])
    return ends
  }

  private func closeEnds() {
    guard let ends else { return }
    close(ends.in)
    close(ends.out)
    self.ends = nil
  }

  /// Room for most tiles.
  private static let byteCount: Int32 = 1 << 18
}
