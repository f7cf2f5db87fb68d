import Foundation
import TestSupport
import Testing

/// What clients leave behind in the process that serves them: nothing.
@Suite struct ServeLeakTests {
  @Test(.enabled(if: openDescriptorCount() != nil, "this system does not list a process's descriptors"))
  func descriptorsComeBack() throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("relief.mbtiles", zooms: 0...1)
    let server = try RunningServer([folder.path])
    func count() -> Int { openDescriptorCount(ofProcess: "\(server.process.processID)") ?? 0 }
    // Readers are opened once for each of a few threads, and stay.
    for _ in 0..<20 { #expect(try server.get("/relief/1/0/0.webp").status == 200) }
    let before = count()
    let pieces = [
      "", "G", "GET / HTTP/1.1\r\nHost: a\r\nX: ", "NONSENSE\r\n\r\n", "\u{16}\u{3}\u{1}",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n", HTTPConnection.head("/relief/1/0/0.png"),
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
    // At most six readers of the one bundle, and the asker's connection.
    #expect(eventually(seconds: 30) { count() <= before + 12 }, "\(before) before, \(count()) after")
    // Some get a second to read the last answer.
    #expect(try eventually { try server.get("/metrics").text.contains("\ntileserve_connections 1\n") })
  }
}
