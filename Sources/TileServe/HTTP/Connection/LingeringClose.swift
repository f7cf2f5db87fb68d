import NIOCore

/// Ends a connection so that the client gets the last answer: closing while it still sends would reset the connection, and its system would throw away
/// what it has not read (RFC 9112, section 9.6).
enum LingeringClose {
  /// Seconds that a client has to notice.
  private static let seconds: Int64 = 1

  static func close(_ context: ChannelHandlerContext) {
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.close(mode: .output).whenComplete { result in
      let context = bound.value
      guard case .success = result else {
        // TLS cannot close one half.
        context.close(promise: nil)
        return
      }
      context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(seconds)) { context.close(promise: nil) }
    }
  }
}
