import CSystemShim

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Sends pages of mapped files to sockets without copying them: `vmsplice` into a pipe, `splice` to the socket (Linux;
/// docs/reference/performance.md).
///
/// One for each event loop, used on it only. It is empty between responses.
final class SplicePipe {
  private var ends: (out: Int32, in: Int32)?
  /// False if the system does not have these calls, or forbids them.
  private var isAllowed = true

  deinit { close() }

  /// Moves bytes of mapped files to a socket.
  ///
  /// - Parameter parts: modified by the call.
  /// - Returns: how many bytes the socket took, 0 if it takes none now; nil if they have to be sent another way.
  func send(_ parts: UnsafeMutableBufferPointer<iovec>, to socket: Int32) -> Int? {
    guard let ends = open() else { return nil }
    var parts = parts
    var sent = 0
    while !parts.isEmpty {
      // As many as fit into the pipe, usually all.
      let put = csystem_put_pages(ends.in, parts.baseAddress, Int32(parts.count))
      guard put > 0 else {
        if put < 0 { learn(from: errno) }
        return sent == 0 ? nil : sent
      }
      parts = Self.rest(of: parts, after: put)
      var left = put
      while left > 0 {
        let moved = csystem_move_pages(ends.out, socket, left)
        if moved < 0, errno == EINTR { continue }
        guard moved > 0 else {
          if moved < 0 { learn(from: errno) }
          // Bytes that are still in the pipe are dropped with it.
          close()
          return sent
        }
        left -= moved
        sent += moved
      }
    }
    return sent
  }

  private func open() -> (out: Int32, in: Int32)? {
    guard isAllowed else { return nil }
    if let ends { return ends }
    var pair: [Int32] = [-1, -1]
    guard csystem_open_page_pipe(&pair, Self.byteCount) == 0 else { return nil }
    ends = (pair[0], pair[1])
    return ends
  }

  /// Other errors are those of a truncated file, a broken connection or a full socket.
  private func learn(from error: Int32) {
    if [EINVAL, ENOSYS, EPERM].contains(error) { isAllowed = false }
  }

  private func close() {
    guard let ends else { return }
    for end in [ends.in, ends.out] { _ = systemClose(end) }
    self.ends = nil
  }

  /// Room for most tiles.
  private static let byteCount: Int32 = 1 << 18

  private static func rest(
    of parts: UnsafeMutableBufferPointer<iovec>, after count: Int
  ) -> UnsafeMutableBufferPointer<iovec> {
    var count = count
    var next = 0
    while next < parts.count, count >= parts[next].iov_len {
      count -= parts[next].iov_len
      next += 1
    }
    let rest = UnsafeMutableBufferPointer(rebasing: parts[next...])
    if count > 0 { rest[0] = iovec(iov_base: rest[0].iov_base! + count, iov_len: rest[0].iov_len - count) }
    return rest
  }
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
