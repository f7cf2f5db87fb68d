import Hummingbird
import NIOCore
import Support

/// What is known of a request beside itself: who sent it.
struct StoreContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of the other end of the connection; a proxy's, behind one.
  let peer: ClientAddress
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
    peer = ClientAddress(source.channel.remoteAddress?.ipAddress ?? "local")
  }
}
