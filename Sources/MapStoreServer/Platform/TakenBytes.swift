import NIOCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How much of what was sent the other end has taken.
///
/// The system takes whole megabytes from a server before the first of them has left, and takes none for as long as a slow client needs for them: what has gone to the system says little
/// of the client.
enum TakenBytes {
  #if os(Linux)
    /// The beginning of `struct tcp_info` (linux/tcp.h).
    private struct Info {
      var before: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
      var between: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
      /// `tcpi_bytes_acked`, RFC 4898's tcpEStatsAppHCThruOctetsAcked.
      var bytesAcked: UInt64
    }
  #endif

  /// Bytes since the connection began; 0 where the system does not tell. On the channel's event loop only.
  static func count(on channel: any Channel) -> UInt64 {
    #if os(Linux)
      guard let provider = channel as? any SocketOptionProvider else { return 0 }
      let info: EventLoopFuture<Info> = provider.unsafeGetSocketOption(
        level: SocketOptionLevel(IPPROTO_TCP), name: SocketOptionName(TCP_INFO))
      var bytes: UInt64 = 0
      // On the event loop it is there at once.
      info.assumeIsolated().whenSuccess { bytes = $0.bytesAcked }
      return bytes
    #else
      return 0
    #endif
  }
}
