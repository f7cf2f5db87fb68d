#if os(Linux)
  import Foundation
  import LibC
  import TestSupport
  import Testing

  /// What the servers tell systemd (sd_notify(3)), received on a real datagram socket.
  @Suite(.ownThread) struct ServiceManagerTests {
    @Test func serverSaysWhenItIsReadyAndWhenItStops() throws {
      let folder = try TemporaryFolder()
      let path = folder.file("notify")
      let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      #expect(descriptor >= 0)
      defer { close(descriptor) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      #expect(bound == 0)
      var wait = timeval(tv_sec: 20, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))

      let run = try tilecut(
        "cut", ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif"), "-o",
        folder.file("map.mbtiles"), "--zoom", "0-3")
      #expect(run.status == 0, "\(run)")
      let server = try RunningServer([folder.file("map.mbtiles")], environment: ["NOTIFY_SOCKET": path])
      #expect(message(descriptor) == "READY=1\nSTATUS=serving 1 tileset")
      server.process.send(SIGINT)
      #expect(message(descriptor) == "STOPPING=1")
    }

    private func message(_ descriptor: Int32) -> String {
      var bytes = [UInt8](repeating: 0, count: 1024)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }
  }
#endif
