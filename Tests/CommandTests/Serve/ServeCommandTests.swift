import Foundation
import Support
import TestSupport
import Testing

/// The built `tileserve`: its logs, how it ends, where it listens.
@Suite(.ownThread) struct ServeCommandTests {
  let folder: TemporaryFolder
  init() throws {
    folder = try TemporaryFolder()
    try folder.writeBundle("a map.mbtiles", zooms: 0...1)
  }

  /// A script may stop the server as soon as the port is open.
  @Test(.enabled(if: Command(installed: "bash") != nil, "bash is not installed"))
  func aSignalAtTheFirstConnectionExitsWith0() throws {
    let script = #"""
      for _ in 1 2 3 4 5; do
        TILESERVE_DRAIN_DELAY=0 "$0" "$1" --port "$2" & server=$!
        until (exec 4<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; do kill -0 "$server" || exit 2; done
        kill "$server"; wait "$server" || exit $?
      done
      """#
    let port = "\(Int.random(in: 20_000..<30_000))"
    let words = ["-c", script, try Command(built: "tileserve").path, folder.path, port]
    let run = try #require(Command(installed: "bash")).run(words)
    #expect(run.status == 0, "\(run)")
  }

  @Test func stopAnswersStartedRequestsAndExitsWith0() throws {
    let server = try RunningServer([folder.path])
    let idle = try server.connect()
    #expect(try idle.request("/health").status == 200)
    let late = try server.connect()
    try late.send("GET /ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n")
    // The half request must arrive before the signal: the same event loops answer both.
    for _ in 0..<20 { #expect(try server.get("/health").status == 200) }
    server.process.send(SIGTERM)
    #expect(idle.isAtEnd())
    #expect(eventually { (try? server.connect()) == nil })
    try late.send("xx")
    let response = try late.response()
    #expect(response.status == 503 && response.closes && response["Retry-After"] != nil, "\(response)")
    #expect(late.isAtEnd())
    let run = server.process.wait(timeout: 30)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
  }

  /// In the list, which is public, without the folder.
  @Test func theCommandThatMakesAnIndexIsNamed() throws {
    let connection = try SQLiteConnection(creating: folder.file("it's plain.mbtiles"))
    try connection.execute(
      """
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      INSERT INTO tiles VALUES (0, 0, 0, x'89504e470d0a1a0a'), (1, 0, 0, x'89504e470d0a1a0a');
      """)
    try connection.close()
    let server = try RunningServer([folder.path])
    let list = try JSONValue(parsing: server.get("/tilesets.json").body)
    let warnings = list["tilesets"]?.array?.compactMap { $0["warnings"]?.array?.first?.string }
    let text =
      "it's plain.mbtiles has no index of its tiles, so that each request reads the whole table; make an indexed copy: "
      + #"tilecut convert 'it'\''s plain.mbtiles' indexed.mbtiles"#
    #expect(warnings == [text])
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).status == 0)
  }

  /// A load balancer needs some time to notice /ready and to send requests elsewhere.
  @Test func readyAnswers503BeforeThePortCloses() throws {
    let server = try RunningServer([folder.path], environment: ["TILESERVE_DRAIN_DELAY": "3600"])
    let known = try server.connect()
    #expect(try known.request("/ready").text == "ready\n")
    server.process.send(SIGTERM)
    #expect(try eventually { try server.get("/ready").status == 503 })
    // Everything else is answered, and answers close their connections, so that clients go elsewhere.
    let last = try known.request("/a%20map/0/0/0.png")
    #expect(last.status == 200 && last.closes && known.isAtEnd(), "\(last)")
    for _ in 0..<2 {
      let response = try server.get("/a%20map/0/0/0.png")
      #expect(response.status == 200 && response.closes, "\(response)")
      let ready = try server.get("/ready")
      #expect(ready.status == 503 && ready.text == "shutting down\n" && ready["Retry-After"] != nil, "\(ready)")
    }
    #expect(try server.get("/health").status == 200)
    // The delay would last an hour; a second signal ends it, unless it comes at the same time.
    usleep(300_000)
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).ending == .signal(SIGTERM))
  }

  @Test(arguments: [(SIGTERM, "0"), (SIGTERM, "1"), (SIGINT, "3600")])
  func portClosesAfterTheDrainDelay(_ signal: Int32, _ delay: String) throws {
    let server = try RunningServer([folder.path], environment: ["TILESERVE_DRAIN_DELAY": delay])
    server.process.send(signal)
    let run = server.process.wait(timeout: 60)
    #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
  }

  @Test(arguments: [SIGINT, SIGTERM]) func secondSignalKillsTheServer(_ signal: Int32) throws {
    let server = try RunningServer([folder.path])
    let late = try server.connect()
    try late.send("GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n")
    for _ in 0..<20 { #expect(try server.get("/health").status == 200) }
    server.process.send(signal)
    #expect(eventually { (try? server.connect()) == nil })
    usleep(300_000)
    server.process.send(signal)
    let run = server.process.wait(timeout: 30)
    #expect(run.ending == .signal(signal), "\(run)")
    withExtendedLifetime(late) {}
  }

  @Test func accessLogHasTheCombinedFormat() throws {
    let log = folder.file("access.log")
    try folder.write("access.log", "what was there\n")
    let server = try RunningServer([folder.path], environment: ["TILESERVE_ACCESS_LOG": log])
    let fields = ["Referer": "http://a.example/\"x", "User-Agent": "Test (1.0)"]
    #expect(try server.get("/a%20map/0/0/0?\"q", fields).status == 200)
    #expect(try server.get("/nothing").status == 404)
    func lines() throws -> [Substring] { try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n") }
    #expect(try eventually { try lines().count == 3 })
    let format =
      #/
      127\.0\.0\.1\ -\ -\ \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\ \+0000\]
      \ "GET\ ([^"]*)\ HTTP/1\.1"\ (\d+)\ (\d+)\ "([^"]*)"\ "([^"]*)"\ [0-9.e-]+
      /#
    let found = try lines()
    #expect(found[0] == "what was there")
    let first = try #require(found[1].wholeMatch(of: format), "\(found[1])").output
    #expect(
      first.1 == "/a%20map/0/0/0??q" && first.2 == "200" && first.4 == "http://a.example/?x" && first.5 == "Test (1.0)")
    let second = try #require(found[2].wholeMatch(of: format), "\(found[2])").output
    #expect(second.1 == "/nothing" && second.2 == "404" && second.4 == "-" && second.5 == "-")
    // Behind a proxy on this machine the client is the address that the proxy names.
    // A port is not part of the client's address, and a trusted proxy is not the client.
    for (given, logged) in [
      ("10.0.0.7, 2001:db8::1", "2001:db8::1"), ("\" x", "127.0.0.1"), ("my host", "127.0.0.1"),
      ("10.0.0.7:51234", "10.0.0.7"), ("[2001:db8::1]:443", "2001:db8::1"),
      ("10.0.0.9, 10.0.0.7, 127.0.0.1", "10.0.0.7"),
    ] {
      let count = try lines().count
      #expect(try server.get("/health", ["X-Forwarded-For": given]).status == 200)
      #expect(try eventually { try lines().count == count + 1 })
      #expect(try lines().last?.hasPrefix("\(logged) - - ") == true)
    }
    // The log has requests of the last moment, too.
    #expect(try server.get("/health").status == 200)
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).status == 0)
    #expect(try lines().count == 10)
  }

  /// As `logrotate` does it: the file is moved away, and SIGHUP says so.
  @Test func hangupOpensTheAccessLogAgain() throws {
    let log = folder.file("turned.log")
    let server = try RunningServer([folder.path], environment: ["TILESERVE_ACCESS_LOG": log])
    func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
    for turn in 1...2 {
      #expect(try server.get("/health?before\(turn)").status == 200)
      #expect(eventually { text(log).contains("before\(turn)") })
      try FileManager.default.moveItem(atPath: log, toPath: "\(log).\(turn)")
      server.process.send(SIGHUP)
      #expect(eventually { FileManager.default.fileExists(atPath: log) })
      #expect(try server.get("/health?after\(turn)").status == 200)
      #expect(eventually { text(log).contains("after\(turn)") })
      #expect(!text("\(log).\(turn)").contains("after\(turn)"))
    }
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).status == 0)
  }

  /// Without a file there is nothing to open again.
  @Test(arguments: [[:], ["TILESERVE_ACCESS_LOG": "-"]]) func hangupEndsTheServer(_ log: [String: String]) throws {
    let server = try RunningServer([folder.path], environment: log)
    server.process.send(SIGHUP)
    #expect(server.process.wait(timeout: 30).status == 0)
  }

  @Test func accessLogMayGoToStandardOutput() throws {
    let server = try RunningServer([folder.path], environment: ["TILESERVE_ACCESS_LOG": "-"])
    #expect(try server.get("/health").status == 200)
    #expect(server.process.wait(timeout: 20) { server.process.stdout.contains("\"GET /health HTTP/1.1\" 200 3 ") })
  }

  /// A damaged page of a bundle makes the tiles on it unreadable; each is logged once, with the file.
  @Test func damagedPagesOfABundleGiveErrorsAndNotCrashes() throws {
    let path = folder.file("flat.mbtiles")
    var statements = "CREATE TABLE metadata (name text, value text); INSERT INTO metadata VALUES ('format', 'png');"
    statements += "CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob);"
    statements += "CREATE UNIQUE INDEX place ON tiles (zoom_level, tile_column, tile_row);"
    for (zoom, column) in [(0, 0)] + (0..<8).map({ (3, $0) }) {
      statements += "INSERT INTO tiles VALUES (\(zoom), \(column), 7, x'89504e470d0a1a0a' || randomblob(3000));"
    }
    statements += "UPDATE tiles SET tile_row = 0 WHERE zoom_level = 0;"
    try SQLiteFile.execute(path, "PRAGMA page_size = 4096; " + statements)
    // The last page has one of the last tiles.
    var bytes = try folder.bytes("flat.mbtiles")
    for index in bytes.count - 4096..<bytes.count - 4088 { bytes[index] = 0x55 }
    try bytes.write(to: URL(fileURLWithPath: path))
    let server = try RunningServer([folder.path])
    let statuses = try (0..<8).map { column in
      try (0..<4).map { _ in try server.get("/flat/3/\(column)/0.png").status }
    }
    let damaged = statuses.indices.filter { statuses[$0] == [500, 500, 500, 500] }
    #expect(!damaged.isEmpty && damaged.count < 4, "\(statuses)")
    #expect(
      statuses.indices.allSatisfy { damaged.contains($0) || statuses[$0] == [200, 200, 200, 200] }, "\(statuses)")
    let lines = server.process.stderr.split(separator: "\n")
    #expect(lines.count == damaged.count, "\(lines)")
    for column in damaged {
      #expect(lines.contains { $0.contains(path) && $0.contains("3/\(column)/0") }, "\(lines)")
    }
  }

  /// A running server keeps its socket; the socket of a killed one is replaced.
  @Test func unixSocketBelongsToItsServer() throws {
    let path = folder.file("s")
    func start() throws -> ChildProcess {
      let process = try Command(built: "tileserve").start([folder.path, "--unix-socket", path])
      #expect(process.wait(timeout: 60) { process.stdout.contains("listening on \(path)") }, "\(process.stderr)")
      return process
    }
    func answers() throws -> Bool {
      try HTTPConnection(try Socket(unixSocket: path)).request("/health").status == 200
    }
    let first = try start()
    let second = try tileserve(folder.path, "--unix-socket", path)
    #expect(second.status == 69 && second.stdout.isEmpty && second.stderr.contains(path), "\(second)")
    #expect(second.stderr.contains("another server"), "\(second)")
    #expect(try answers())
    first.send(SIGKILL)
    _ = first.wait()
    #expect(folder.names.contains("s"))
    let third = try start()
    #expect(try answers())
    third.send(SIGTERM)
    #expect(third.wait(timeout: 30).status == 0)
    #expect(!folder.names.contains("s"))
    // A server that ends leaves a socket that is not its own any more.
    let fourth = try start()
    try FileManager.default.removeItem(atPath: path)
    let fifth = try start()
    fourth.send(SIGTERM)
    #expect(fourth.wait(timeout: 30).status == 0)
    #expect(try answers())
    fifth.send(SIGTERM)
    #expect(fifth.wait(timeout: 30).status == 0)
    #expect(!folder.names.contains("s"))
  }

  @Test func serverListensOnAUnixSocket() throws {
    let path = folder.file("s")
    let process = try Command(built: "tileserve").start([folder.path, "--unix-socket", path])
    #expect(process.wait(timeout: 60) { process.stdout.contains("listening on \(path)") }, "\(process.stderr)")
    let connection = HTTPConnection(try Socket(unixSocket: path))
    #expect(try connection.request("/health").text == "ok\n")
    // The peer is a program on this machine: a proxy.
    let json = try connection.request("/a%20map.json", ["X-Forwarded-Host": "m.example"]).text.replacing(
      "\\/", with: "/")
    #expect(json.contains("http://m.example/a%20map/"), "\(json)")
    process.send(SIGTERM)
    #expect(process.wait(timeout: 30).status == 0)
    // A socket that a killed server left is replaced.
    let next = try Command(built: "tileserve").start([folder.path, "--unix-socket", path])
    #expect(next.wait(timeout: 60) { next.stdout.contains("listening on") }, "\(next.stderr)")
    #expect(try HTTPConnection(try Socket(unixSocket: path)).request("/health").status == 200)
  }

  @Test(
    .enabled(if: Command(installed: "openssl") != nil, "openssl is not installed"),
    .enabled(if: Command(installed: "curl") != nil, "curl is not installed"))
  func serverSpeaksTLS() throws {
    let (certificate, key) = (folder.file("cert.pem"), folder.file("key.pem"))
    let made = try #require(Command(installed: "openssl")).run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate,
    ])
    #expect(made.status == 0, "\(made)")
    let server = try RunningServer(
      [folder.path], environment: ["TILESERVE_TLS_CERT": certificate, "TILESERVE_TLS_KEY": key])
    #expect(server.process.stdout.contains("viewer: https://127.0.0.1:"))
    let url = "https://localhost:\(server.port)"
    let run = try #require(Command(installed: "curl")).run([
      "-q", "-sS", "--noproxy", "*", "--max-time", "30", "--cacert", certificate, "\(url)/health",
      "\(url)/a%20map.json",
    ])
    #expect(run.status == 0 && run.stdout.hasPrefix("ok\n"), "\(run)")
    #expect(run.stdout.replacing("\\/", with: "/").contains("\"\(url)/a%20map/"), "\(run)")
    // A client that speaks plain HTTP gets no answer, and others are not affected.
    let plain = try server.connect()
    try plain.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    _ = plain.rest()
    #expect(
      try #require(Command(installed: "curl")).run(["-q", "-sS", "-k", "--noproxy", "*", "\(url)/health"]).stdout
        == "ok\n")
    server.process.send(SIGTERM)
    #expect(server.process.wait(timeout: 30).status == 0)

    for pair in [[folder.file("none.pem"), key], [certificate, folder.file("none.pem")], [certificate, certificate]] {
      let run = try tileserve(
        folder.path, "--port", "0", environment: ["TILESERVE_TLS_CERT": pair[0], "TILESERVE_TLS_KEY": pair[1]])
      #expect(run.status == 66 && run.stderr.hasPrefix("tileserve: \(folder.path)/"), "\(run)")
    }
  }
}
