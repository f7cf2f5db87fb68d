import Hummingbird
import NIOCore
import PurchaseLedger

/// A part of a file as a response's body.
enum FileBody {
  /// - Parameters:
  ///   - seat: lives as long as the body.
  ///   - whenBegun: is told before each piece where that ends.
  ///   - whenSent: is called after the last byte was handed to the system.
  static func make(
    _ file: OpenFile, _ range: Range<Int>, seat: Seats<AccountID>.Seat, channel: any Channel, metrics: StoreMetrics,
    whenBegun: @escaping @Sendable (Int) -> Void, whenSent: @escaping @Sendable () async -> Void
  ) -> ResponseBody {
    ResponseBody(contentLength: range.count) { writer in
      defer { withExtendedLifetime(seat) {} }
      // The head was given to the event loop before this is called, so it goes first.
      try await ConnectionGuard.send(file, range, on: channel, begins: whenBegun) { metrics.count(sentBytes: $0) }
      try await writer.finish(nil)
      await whenSent()
    }
  }
}
