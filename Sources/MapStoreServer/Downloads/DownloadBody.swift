import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import PurchaseLedger
import Synchronization

/// The body of a download, preview or asset: a file or a part of it, sent by `sendfile`.
///
/// Hummingbird's writer takes bytes only. So a download goes past it, to the encoder of HTTP/1: the system moves the
/// bytes from its page cache to the connection, and none of them come into this process. docs/reference/performance.md
/// has the figures.
enum DownloadBody {
  /// - Parameters:
  ///   - slot: kept until the system has the last byte, or the connection has ended: what follows, such as the event in
  ///     the ledger, is no transfer. Nil where files are not counted.
  ///   - whenOver: called after the last byte was handed to the system, or the connection has ended, with the end of
  ///     the last piece that was begun. How much arrived of a piece that was cut off is unknown.
  static func make(
    _ file: RegularFile, _ range: Range<Int>, slot: ConcurrencyLimiter<AccountID>.Slot? = nil, channel: any Channel,
    metrics: StoreMetrics, whenOver: @escaping @Sendable (Int) async -> Void = { _ in }
  ) -> ResponseBody {
    ResponseBody(contentLength: range.count) { writer in
      let begun = Mutex(range.lowerBound)
      do {
        // The head was given to the event loop before this is called, so it is sent first.
        try await send(
          file, range, on: channel, slot, begins: { end in begun.withLock { $0 = end } },
          sent: { metrics.count(sentBytes: $0) })
        try await writer.finish(nil)
      } catch {
        await whenOver(begun.withLock { $0 })
        throw error
      }
      await whenOver(range.upperBound)
    }
  }

  /// Sends a part of a file after what was written before; returns when the system has accepted all of it.
  ///
  /// - Parameters:
  ///   - begins: called with the end of each piece before it is written.
  ///   - sent: called with the byte count of each piece after it was accepted.
  /// - Throws: errors of the connection or the disk; `ChannelError` if the client has disconnected.
  private static func send(
    _ file: RegularFile, _ range: Range<Int>, on channel: any Channel, _ slot: ConcurrencyLimiter<AccountID>.Slot?,
    begins: @escaping @Sendable (Int) -> Void,
    sent: @escaping @Sendable (Int) -> Void
  ) async throws {
    try await channel.eventLoop.flatSubmit {
      do {
        let pipeline = channel.pipeline.syncOperations
        let sender = FileSender(
          file, range, encoder: try pipeline.context(handlerType: HTTP1ToHTTPServerCodec.self),
          connection: try pipeline.handler(type: ConnectionGuard.self), begins: begins, sent: sent)
        // On the event loop: a client that has its last byte may ask for the next file at once.
        return sender.run().always { _ in slot?.end() }
      } catch {
        slot?.end()
        return channel.eventLoop.makeFailedFuture(error)
      }
    }.get()
  }
}

/// Writes a part of a file to a connection, piece by piece, on the connection's event loop. A piece is written when the
/// one before was accepted.
private final class FileSender {
  /// Large pieces cost less, but delay the detection of slow clients (``StoreLimits/stallSeconds``). So pieces grow
  /// while the client is fast.
  private static let pieceBytesMin = 1 << 18
  private static let pieceBytesMax = 1 << 21
  private static let fastTime = TimeAmount.milliseconds(200)
  /// How far ahead the disk reads, so that the event loop seldom waits for it.
  private static let aheadBytes = 4 << 20

  private let file: RegularFile
  private let handle: NIOFileHandle
  private var rest: Range<Int>
  private var pieceBytes = pieceBytesMin
  /// The context of the handler whose writes go to HTTP/1's encoder.
  private let encoder: ChannelHandlerContext
  /// Watches the writes, since they go past it.
  private let connection: ConnectionGuard
  private let begins: (Int) -> Void
  private let sent: (Int) -> Void
  private let done: EventLoopPromise<Void>

  init(
    _ file: RegularFile, _ range: Range<Int>, encoder: ChannelHandlerContext, connection: ConnectionGuard,
    begins: @escaping (Int) -> Void, sent: @escaping (Int) -> Void
  ) {
    (self.file, rest, self.encoder, self.connection) = (file, range, encoder, connection)
    (self.begins, self.sent) = (begins, sent)
    // NIO sends files by `FileRegion` only, and that takes this handle only; NIO discourages it, without a replacement.
    // The descriptor stays the file's: `end` takes it back.
    handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
    done = encoder.eventLoop.makePromise()
  }

  func run() -> EventLoopFuture<Void> {
    file.prefetch(rest.prefix(Self.aheadBytes))
    sendPiece()
    return done.futureResult
  }

  private func sendPiece() {
    guard !rest.isEmpty else { return end(nil) }
    let piece = rest.prefix(pieceBytes)
    let start = NIODeadline.now()
    // `sendfile` would silently send less of a file that has become shorter.
    guard file.reaches(piece.endIndex) else { return end(RegularFile.becameShorter) }
    file.prefetch((piece.startIndex + Self.aheadBytes..<piece.endIndex + Self.aheadBytes).clamped(to: rest))
    let region = FileRegion(fileHandle: handle, readerIndex: piece.startIndex, endIndex: piece.endIndex)
    begins(piece.endIndex)
    let promise = connection.watched(nil, encoder)
    promise.futureResult.assumeIsolated().whenComplete { [self] result in
      switch result {
      case .success:
        sent(piece.count)
        let isFast = NIODeadline.now() - start < Self.fastTime
        pieceBytes = isFast ? min(pieceBytes * 2, Self.pieceBytesMax) : Self.pieceBytesMin
        rest = piece.endIndex..<rest.upperBound
        sendPiece()
      case .failure(let error): end(error)
      }
    }
    encoder.writeAndFlush(NIOAny(HTTPServerResponsePart.body(.fileRegion(region))), promise: promise)
  }

  private func end(_ error: (any Error)?) {
    _ = try? handle.takeDescriptorOwnership()
    if let error { done.fail(error) } else { done.succeed(()) }
  }
}

@available(*, unavailable)
extension FileSender: Sendable {}
