import LibC
import NIOCore

/// The socket of a connection, for writing responses past the pipeline's queues, which cost as much as finding the
/// response. Or of a listener, for setting options.
///
/// To be used only on the channel's event loop, only until the channel is closed (another connection may have the
/// descriptor then), and only while nothing waits in the pipeline to be written, which would be sent out of order.
struct DirectSocket {
  private let descriptor: NIOBSDSocket.Handle

  /// Nil if the channel has no socket.
  init?(_ pipeline: ChannelPipeline.SynchronousOperations) {
    guard let found = try? pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self, { $0 }) else {
      return nil
    }
    descriptor = found
  }

  /// For a listener whose clients are on the same machine: selects the Reno congestion control, which its connections
  /// inherit. A local connection has no congestion, and BBR paces every response of more than 64 kB with a timer that
  /// takes longer than sending it.
  func sparePacing() {
    #if os(Linux)
      let name = "reno"
      // If it is not available the system's default stays.
      _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, name, socklen_t(name.utf8.count))
    #endif
  }

  /// Writes a response.
  ///
  /// - Parameters:
  ///   - parts: bytes that the system copies.
  ///   - pages: what follows them, nil for nothing.
  ///   - pipe: for the pages.
  /// - Returns: how many bytes the system took, 0 when it takes none now; nil when the connection is broken.
  func send(_ parts: UnsafeMutableBufferPointer<iovec>, _ pages: SharedPages?, through pipe: PagePipe) -> Int? {
    guard let pages else { return send(parts, Self.flags) }
    guard let sent = send(parts, Self.flags | Self.more) else { return nil }
    guard sent == parts.reduce(0, { $0 + $1.iov_len }) else { return sent }
    return sent + pipe.send(pages, to: descriptor)
  }

  private func send(_ parts: UnsafeMutableBufferPointer<iovec>, _ flags: Int32) -> Int? {
    var message = msghdr()
    message.msg_iov = parts.baseAddress
    message.msg_iovlen = .init(parts.count)
    while true {
      let count = sendmsg(descriptor, &message, flags)
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN, EWOULDBLOCK, ENOBUFS: return 0
      default: return nil
      }
    }
  }

  #if canImport(Darwin)
    /// NIO has set SO_NOSIGPIPE.
    private static let flags: Int32 = 0
    private static let more: Int32 = 0
  #else
    private static let flags = Int32(MSG_NOSIGNAL)
    /// So that head and body share packets.
    private static let more = Int32(MSG_MORE)
  #endif
}
