import NIOCore

/// Whether the system holds back packets that are not full (`TCP_CORK`), as a program does that sends a response in pieces.
struct Cork {
  private var isSet = false

  /// Costs a system call where it changes something. Nothing happens on systems and sockets that have no such option: there the pieces go out one by one.
  mutating func set(_ on: Bool, _ context: ChannelHandlerContext) {
    guard on != isSet else { return }
    isSet = on
    #if os(Linux)
      try? context.channel.syncOptions?.setOption(Self.option, value: on ? 1 : 0)
    #endif
  }

  #if os(Linux)
    /// From linux/tcp.h; NIO has no name for it.
    private static let option = ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 3))
  #endif
}
