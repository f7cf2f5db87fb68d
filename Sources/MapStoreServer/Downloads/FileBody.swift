import Hummingbird
import NIOCore
import NIOPosix

/// A part of a file as a response's body: one piece is in memory at a time, and the next is read when the client has taken the last.
enum FileBody {
  private static let pieceBytes = 1 << 18

  /// - Parameters:
  ///   - ticket: lives as long as the body.
  ///   - whenSent: is called after the last byte was handed to the system.
  static func make(
    _ file: OpenFile, _ range: Range<Int>, ticket: Transfers.Ticket, metrics: StoreMetrics,
    whenSent: @escaping @Sendable () async -> Void
  ) -> ResponseBody {
    ResponseBody(contentLength: range.count) { writer in
      defer { withExtendedLifetime(ticket) {} }
      var offset = range.lowerBound
      while offset < range.upperBound {
        let (place, count) = (offset, min(pieceBytes, range.upperBound - offset))
        let piece = try await NIOThreadPool.singleton.runIfActive { try file.bytes(at: place, count: count) }
        try await writer.write(piece)
        metrics.count(sentBytes: count)
        offset += count
      }
      try await writer.finish(nil)
      await whenSent()
    }
  }
}
