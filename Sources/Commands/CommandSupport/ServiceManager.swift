import LibC
import Support

/// Tells systemd when a server is ready and when it stops (sd_notify(3), `Type=notify`).
///
/// A message is one datagram to the socket that NOTIFY_SOCKET names. Without that variable nothing is sent, and a
/// message that cannot be sent is no error: the server works all the same.
package enum ServiceManager {
  package static func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }
  package static func stopping() { send("STOPPING=1") }

  private static func send(_ message: String) {
    #if os(Linux)
      guard let name = getenv("NOTIFY_SOCKET").map({ String(cString: $0) }), name.hasPrefix("/") || name.hasPrefix("@")
      else { return }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var path = Array(name.utf8)
      // An abstract socket: its name begins with a NUL.
      if name.hasPrefix("@") { path[0] = 0 }
      guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
      let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
      let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return }
      defer { close(descriptor) }
      let bytes = Array(message.utf8)
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
        }
      }
    #endif
  }
}
