import Hummingbird

/// What is known of a request beside itself: who sent it.
struct StoreContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of the other end of the connection; a proxy's, behind one.
  let peer: String

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    peer = source.channel.remoteAddress?.ipAddress ?? "local"
  }
}
