import NIOCore
import NIOHTTP1

/// A part of a file on its way to a connection, piece by piece, on the connection's event loop.
final class FileSender {
  /// Larger pieces cost less, and a client that is slow is noticed later (``StoreLimits/stallSeconds``): only who is fast gets them.
  private static let pieceBytesMin = 1 << 18
  private static let pieceBytesMax = 1 << 21
  private static let fastTime = TimeAmount.milliseconds(200)
  /// What the disk is asked for ahead of what is sent, so that the event loop seldom waits for it.
  private static let aheadBytes = 4 << 20

  private let file: OpenFile
  private let handle: NIOFileHandle
  private var rest: Range<Int>
  private var pieceBytes = pieceBytesMin
  /// Of the handler whose writes go to HTTP/1's encoder.
  private let encoder: ChannelHandlerContext
  private let begins: (Int) -> Void
  private let sent: (Int) -> Void
  private let done: EventLoopPromise<Void>
  private var promise: (ChannelHandlerContext) -> EventLoopPromise<Void> = { $0.eventLoop.makePromise() }

  init(
    _ file: OpenFile, _ range: Range<Int>, encoder: ChannelHandlerContext, begins: @escaping (Int) -> Void,
    sent: @escaping (Int) -> Void
  ) {
    (self.file, rest, self.encoder, self.begins, self.sent) = (file, range, encoder, begins, sent)
    // Lent to it: the file is closed by its owner, who lives as long as this.
    handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
    done = encoder.eventLoop.makePromise()
  }

  /// - Parameter promise: makes the promise of a piece's write.
  func run(promise: @escaping (ChannelHandlerContext) -> EventLoopPromise<Void>) -> EventLoopFuture<Void> {
    self.promise = promise
    file.prefetch(rest.prefix(Self.aheadBytes))
    sendPiece()
    return done.futureResult
  }

  private func sendPiece() {
    guard !rest.isEmpty else { return end(nil) }
    let piece = rest.prefix(pieceBytes)
    let start = NIODeadline.now()
    // The system sends nothing of what is not there any more, without a word.
    guard file.reaches(piece.endIndex) else { return end(OpenFile.Failure.becameShorter) }
    file.prefetch((piece.startIndex + Self.aheadBytes..<piece.endIndex + Self.aheadBytes).clamped(to: rest))
    let region = FileRegion(fileHandle: handle, readerIndex: piece.startIndex, endIndex: piece.endIndex)
    begins(piece.endIndex)
    let promise = promise(encoder)
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
