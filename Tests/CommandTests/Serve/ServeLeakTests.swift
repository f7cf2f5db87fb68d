import Foundation
import TestSupport
import Testing

/// Clients leave no open descriptors in the server's process.
@Suite(.ownThread) struct ServeLeakTests {
  @Test(.enabled(if: openDescriptorCount() != nil, "this system does not list a process's descriptors"))
  func descriptorsOfConnectionsAreClosed() throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("relief.mbtiles", zooms: 0...1)
    let server = try RunningServer([folder.path])
    func count() -> Int { openDescriptorCount(ofProcess: "\(server.process.processID)") ?? 0 }
    // Readers are opened once for each of a few threads, and stay open.
    for _ in 0..<20 { #expect(try server.get("/relief/1/0/0.webp").status == 200) }
    let before = count()
    let pieces = [
      "", "G", "GET / HTTP/1.1\r\nHost: localhost\r\nX: ", "NONSENSE\r\n\r\n", "\u{16}\u{3}\u{1}",
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n", HTTPConnection.head("/relief/1/0/0.png"),
      String(repeating: HTTPConnection.head("/relief/1/1/0.jpg"), count: 50),
      String(repeating: HTTPConnection.head("/"), count: 50),
    ]
    for index in 0..<450 {
      let connection = try server.connect()
      try connection.send(pieces[index % pieces.count])
      switch index / pieces.count % 3 {
      case 0: connection.socket.reset()
      case 1: connection.socket.close()
      default:
        connection.socket.finishSending()
        _ = connection.rest()
      }
    }
    // At most six readers of the one bundle, and the connection of this test.
    #expect(eventually(seconds: 30) { count() <= before + 12 }, "\(before) before, \(count()) after")
    // Clients get a second to read the last response.
    #expect(try eventually { try server.get("/metrics").text.contains("\ntileserve_connections 1\n") })
  }

  /// Ten thousand clients that send nothing, or half a request, do not slow down the one that sends requests.
  @Test(.veryLong) func tenThousandIdleConnectionsDoNotSlowOthers() throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("relief.mbtiles", zooms: 0...1)
    let server = try RunningServer([folder.path])
    var held: [HTTPConnection] = []
    for index in 0..<10_000 {
      let connection = try server.connect()
      if index % 2 == 0 { try connection.send("GET / HTTP/1.1\r\n") }
      held.append(connection)
      // New requests are answered while the connections accumulate.
      if index % 1000 == 999 { #expect(try server.get("/relief/1/0/0.png").status == 200) }
    }
    func metric(_ name: String) throws -> Double {
      let line = try server.get("/metrics").text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
      return line.flatMap { Double($0.dropFirst(name.utf8.count + 1)) } ?? 0
    }
    // On a slow machine the first connections have reached their timeout of ten seconds by now.
    #expect(try metric("tileserve_connections_opened_total") >= 10_000)
    let open = try metric("tileserve_connections")
    let asking = try server.connect()
    let start = ContinuousClock.now
    for _ in 0..<1000 { #expect(try asking.request("/relief/1/0/0.png").status == 200) }
    print("1,000 requests beside \(Int(open)) connections: \((ContinuousClock.now - start) / .milliseconds(1)) ms")
    for connection in held { connection.socket.close() }
    asking.socket.close()
    #expect(try eventually(seconds: 30) { try metric("tileserve_connections") == 1 })
  }
}
