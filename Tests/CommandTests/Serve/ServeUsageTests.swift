import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

/// Where options come from, and errors for those that cannot be used.
@Suite(.ownThread) struct ServeUsageTests {
  let folder: TemporaryFolder
  let bundle: String
  init() throws {
    folder = try TemporaryFolder()
    bundle = try folder.writeBundle("relief.mbtiles", zooms: 0...0)
  }

  @Test func flagsWinOverTheEnvironmentAndItOverTheFile() throws {
    // One member is spelled as its flag is.
    let file = try folder.write(
      "serve.json", #"{"base-path": "/file", "cacheControl": "max-age=1", "missing": "204", "port": 1}"#)
    let environment = ["TILESERVE_BASE_PATH": "/environment", "TILESERVE_CACHE_CONTROL": "max-age=2"]
    func first(_ arguments: [String], _ environment: [String: String]) throws -> (
      path: String, tile: HTTPResponse, missing: Int
    ) {
      let server = try RunningServer([bundle] + arguments, environment: environment)
      let viewer = try #require(server.process.stdout.firstMatch(of: /viewer: http:\/\/[^\/]*(\/\S*)/)).output.1
      return (String(viewer), try server.get("/relief/0/0/0.png"), try server.get("/relief/1/0/0.png").status)
    }
    var found = try first([], [:])
    #expect(found.path == "/" && found.tile["Cache-Control"] == "public, max-age=300" && found.missing == 404)
    found = try first(["--config", file], [:])
    #expect(found.path == "/file/" && found.tile["Cache-Control"] == "max-age=1" && found.missing == 204)
    found = try first(["--config", file], environment)
    #expect(found.path == "/environment/" && found.tile["Cache-Control"] == "max-age=2" && found.missing == 204)
    found = try first(["--config", file, "--base-path", "/flag", "--missing", "404"], environment)
    #expect(found.path == "/flag/" && found.tile["Cache-Control"] == "max-age=2" && found.missing == 404)
    found = try first([], ["TILESERVE_CONFIG": file])
    #expect(found.path == "/file/")
  }

  @Test func overlaysAreTilesetsOfTheirOwn() throws {
    let trip = try folder.write(
      "trip.gpx",
      """
      <gpx><trk><name>Trip</name><trkseg><trkpt lat="10" lon="10"/><trkpt lat="40" lon="60"/></trkseg></trk>
      <wpt lat="20" lon="30"><name>Camp</name><sym>Campground</sym></wpt></gpx>
      """)
    let server = try RunningServer([bundle, "--overlay", trip])
    let json = try server.get("/trip.json")
    #expect(json.status == 200 && json.text.contains(#""maxzoom":18"#), "\(json.text)")
    let tile = try server.get("/trip/3/4/3.png")
    #expect(tile.status == 200 && tile["Content-Type"] == "image/png")
    #expect(try server.get("/trip/3/0/3.png").status == 404)
    let map = try server.get("/relief/0/0/0.png")
    let both = try server.get("/relief,trip/0/0/0.png")
    #expect(both.status == 200 && both.body != map.body)
    // Another trip is drawn anew. Until the change is noticed a reader of the new file may stand beside the old one.
    try folder.write("trip.gpx", #"<gpx><wpt lat="-60" lon="-100"/></gpx>"#)
    let deadline = Date() + 30
    while try server.get("/trip/3/1/5.png").status != 200, Date() < deadline { usleep(100_000) }
    #expect(try server.get("/trip/3/1/5.png").status == 200)
    #expect(try server.get("/trip/3/4/3.png").status == 404)
  }

  /// A trip lies at its place in every grid, and has the pixels of the tiles below it.
  @Test(arguments: [
    (TileMatrixSet.worldCRS84Quad, 256, 1), (.degrees, 288, 1), (.webMercatorQuad, 512, 1), (.webMercatorQuad, 256, 2),
  ])
  func overlaysAreDrawnOnTheGridBelow(_ grid: TileMatrixSet, tileSize: Int, density: Int) throws {
    let picture = try folder.writePlacedPicture()
    var options = ["cut", picture, "-o", folder.file("map.mbtiles"), "--matrix", grid.identifier, "--zoom", "0-2"]
    if tileSize == 512 { options += ["--tile-size", "512"] }
    if density == 2 { options += ["--scale-factor", "2"] }
    let cut = try Command(built: "tilecut").run(options)
    #expect(cut.status == 0, "\(cut)")
    func trip(_ longitude: Double) -> String { #"<gpx><wpt lat="44.3" lon="\#(longitude)"/></gpx>"# }
    let path = try folder.write("trip.gpx", trip(16.7))
    let server = try RunningServer([folder.file("map.mbtiles"), "--overlay", path])
    let place = grid.tileCoordinates(longitude: 16.7, latitude: 44.3, zoom: 2)
    let tile = "2/\(Int(place.x))/\(Int(place.y)).png"
    let expected = (place - place.rounded(.down)) * Double(tileSize * density)
    let map = try Self.picture(try server.get("/map/\(tile)"))
    #expect(map.width == tileSize * density)
    for id in ["map,trip", "trip,map"] {
      #expect(try server.get("/\(id).json").text.contains("\"tileSize\":\(tileSize)"))
    }
    let both = try server.get("/map,trip/\(tile)")
    let drawn = try Self.picture(both)
    #expect(drawn.width == map.width)
    var (sum, count) = (SIMD2<Double>.zero, 0.0)
    for i in 0..<(drawn.width * drawn.height) {
      let pixels = [drawn, map].map { $0.bytes.load(fromByteOffset: i * 4, as: UInt32.self) }
      guard pixels[0] != pixels[1] else { continue }
      sum += SIMD2(Double(i % drawn.width) + 0.5, Double(i / drawn.width) + 0.5)
      count += 1
    }
    // A place is a circle of 5 pixels with a rim; those of twice the density have four times the pixels.
    #expect((80...200).contains(count / Double(density * density)))
    let off = sum / count - expected
    #expect(abs(off.x) < 1 && abs(off.y) < 1, "\(off)")
    // Its own tiles are still those of Web Mercator.
    #expect(try server.get("/trip.json").text.contains(#""maxzoom":18"#))
    let own = TileMatrixSet.webMercatorQuad.tileCoordinates(longitude: 16.7, latitude: 44.3, zoom: 2)
    #expect(try Self.picture(try server.get("/trip/2/\(Int(own.x))/\(Int(own.y)).png")).width == 256)
    // Another trip is drawn anew on every grid.
    try folder.write("trip.gpx", trip(11))
    let deadline = Date() + 30
    func isAnew() throws -> Bool { try server.get("/map,trip/\(tile)").body != both.body }
    while try !isAnew(), Date() < deadline { usleep(100_000) }
    #expect(try isAnew())
  }

  private static func picture(_ response: HTTPResponse) throws -> PixelBuffer {
    try #require(response.status == 200, "\(response.text)")
    return try Array(response.body).withUnsafeBytes { try ImageDecoder.decode($0) }
  }

  @Test func overlaysThatCannotBeDrawnAreNamed() throws {
    let trip = try folder.write("trip.gpx", "<gpx><trk></gpx>")
    let server = try RunningServer([bundle, "--overlay", trip])
    #expect(server.process.stdout.contains("trip") && server.process.stdout.contains("not well-formed XML"))
    #expect(try server.get("/trip/0/0/0.png").status == 503)
    let other = try Command(built: "tileserve").run([bundle, "--overlay", "trip.kml"], in: folder.path)
    #expect(other.status == 64 && other.stderr.contains("trip.kml: is neither GPX nor GeoJSON"), "\(other)")
  }

  /// A name would never be compared with an address.
  @Test func proxiesAreAddresses() throws {
    let run = try tileserve(bundle, environment: ["TILESERVE_TRUSTED_PROXIES": "192.0.2.7, proxy.example"])
    #expect(run.status == 64 && run.stderr.contains("\"proxy.example\" is no address"), "\(run)")
  }

  /// Misspelled variables of the environment have no effect, which is said.
  @Test func unknownVariablesAreNamed() throws {
    let server = try RunningServer(
      [bundle],
      environment: [
        "TILESERVE_PUBLICURL": "https://maps.example", "TILESERVE_CACHE": "32MB",
        "TILESERVE_TILESETS_RELIEF_MISSING": "204",
        "TILESERVER_PORT": "1",
      ])
    #expect(try server.get("/health").status == 200)
    let warnings = server.process.stderr.split(separator: "\n").filter { $0.contains("environment variable") }
    #expect(
      warnings == [
        "tileserve: warning: TILESERVE_PUBLICURL: unknown environment variable; did you mean TILESERVE_PUBLIC_URL?"
      ])
  }

  /// Options about clients and proxies.
  @Test func hostOriginAndAddressOptionsReachTheServer() throws {
    let library = folder.file("web")
    try FileManager.default.createDirectory(atPath: library, withIntermediateDirectories: true)
    try "this.is = 'ours'".write(toFile: "\(library)/leaflet.js", atomically: true, encoding: .utf8)
    try "".write(toFile: "\(library)/leaflet.css", atomically: true, encoding: .utf8)
    let server = try RunningServer(
      [
        bundle, "--allowed-hosts", "maps.example,127.0.0.1", "--cors", "https://a.example,https://b.example",
        "--public-url", "https://maps.example/tilesets",
      ], environment: ["TILESERVE_WEB": library, "TILESERVE_LOG_LEVEL": "error"])
    #expect(try server.get("/relief.json", ["Host": "127.0.0.1:\(server.port)"]).status == 200)
    #expect(try server.get("/relief.json", ["Host": "evil.example"]).status == 421)
    func origin(_ name: String) throws -> String? {
      try server.get("/relief.json", ["Host": "maps.example", "Origin": name])["Access-Control-Allow-Origin"]
    }
    #expect(try origin("https://b.example") == "https://b.example" && origin("https://c.example") == nil)
    let json = try server.get("/relief.json", ["Host": "maps.example"]).text.replacing("\\/", with: "/")
    #expect(json.contains("\"https://maps.example/tilesets/relief/"), "\(json)")
    #expect(try server.get("/_assets/leaflet/leaflet.js", ["Host": "maps.example"]).text == "this.is = 'ours'")
  }

  /// Another address of this machine stands for a proxy elsewhere.
  @Test(.enabled(if: Command(installed: "curl") != nil, "curl is not installed"))
  func forwardedFieldsOfTrustedProxiesOnlyCount() throws {
    let curl = try #require(Command(installed: "curl"))
    let addresses = try Command(installed: "hostname")?.run(["-I"]).stdout.split(whereSeparator: \.isWhitespace) ?? []
    guard let address = addresses.first(where: { $0.contains(".") && !$0.hasPrefix("127.") }) else {
      print("skipped: this machine has no address but its own")
      return
    }
    for (trusted, isBelieved) in [("192.0.2.7,\(address)", true), ("192.0.2.7", false)] {
      let server = try RunningServer(
        [bundle, "--host", "0.0.0.0"], environment: ["TILESERVE_TRUSTED_PROXIES": trusted])
      let run = try curl.run([
        "-q", "-sS", "--noproxy", "*", "--max-time", "30", "-H", "X-Forwarded-Host: maps.example",
        "http://\(address):\(server.port)/relief.json",
      ])
      #expect(run.stdout.contains("maps.example") == isBelieved, "\(run)")
    }
  }

  @Test func tilesetsMayHaveTheirOwnSettings() throws {
    try FileManager.default.createDirectory(atPath: folder.file("sub.d"), withIntermediateDirectories: false)
    try folder.writeBundle("sub.d/hill shade.mbtiles", zooms: 0...0)
    let file = try folder.write(
      "serve.json",
      #"""
      {"tilesets": {"relief": {"missing": "204"}, "sub.d--hill shade": {"missing": "blank", \#
      "cacheControl": "no-store"}}}
      """#
    )
    let server = try RunningServer([folder.path, "--config", file])
    #expect(try server.get("/relief/1/0/0.png").status == 204)
    #expect(try server.get("/relief/0/0/0.png")["Cache-Control"] == "public, max-age=300")
    let blank = try server.get("/sub.d--hill%20shade/1/0/0.png")
    #expect(blank.status == 200 && blank["Cache-Control"] == "no-store", "\(blank)")
  }

  /// The file's text, the member that the error names, and a word of the reason.
  static let wrongFiles: [(text: String, member: String, reason: String)] = [
    (#"{"prot": 80}"#, "prot", "not known"), (#"{"port": "80"}"#, "port", "number"),
    (#"{"port": 99999}"#, "port", "65535"),
    (#"{"port": 1.5}"#, "port", "number"), (#"{"port": true}"#, "port", "number"), (#"{"host": 7}"#, "host", "text"),
    (#"{"threads": 0}"#, "threads", "256"), (#"{"missing": "405"}"#, "missing", "404, 204"),
    (#"{"cors": "nonsense"}"#, "cors", "origin"),
    (#"{"cache": "much"}"#, "cache", "64MB"), (#"{"publicUrl": "maps"}"#, "publicUrl", "https://"),
    (#"{"publicUrl": "https://maps.example.org:80909"}"#, "publicUrl", "1 to 65535"),
    (#"{"cacheControl": "a\r\nb"}"#, "cacheControl", "characters"),
    (#"{"logLevel": "loud"}"#, "logLevel", "warning"),
    (#"{"tilesets": []}"#, "tilesets", "object"), (#"{"tilesets": {"relief": 1}}"#, "tilesets: relief", "object"),
    (#"{"tilesets": {"relief": {"missing": "x"}}}"#, "tilesets: relief", "404, 204"),
    (#"{"tilesets": {"relief": {"mising": "404"}}}"#, "tilesets: relief", "mising"),
    (#"{"tilesets": {"relief": {"cacheControl": "a\nb"}}}"#, "tilesets: relief", "characters"),
  ]

  @Test(arguments: wrongFiles.indices) func configurationErrorsNameTheFileAndTheMember(_ index: Int) throws {
    let wrong = Self.wrongFiles[index]
    let file = try folder.write("serve.json", wrong.text)
    let run = try tileserve(bundle, "--config", file)
    #expect(run.status == 78 && run.stdout.isEmpty, "\(run)")
    #expect(
      run.stderr.hasPrefix("tileserve: \(file): \(wrong.member): ") && run.stderr.contains(wrong.reason), "\(run)")
  }

  @Test(arguments: ["", "[]", "{", "{'port': 80}", "7", "\u{feff}"]) func configurationMustBeAJSONObject(_ text: String)
    throws
  {
    let file = try folder.write("serve.json", text)
    let run = try tileserve(bundle, "--config", file)
    #expect(run.status == 78 && run.stderr.hasPrefix("tileserve: \(file): "), "\(run)")
  }

  /// Where the syntax error is.
  static let syntaxErrors: [(text: String, place: String, reason: String)] = [
    ("{\n  \"port\": 80,\n  \"host\" \"a\"\n}\n", "line 3, column 10", "colon"),
    ("{\"port\": 80,\n}", "line 2, column 1", "name"), ("{\n\n  'port': 80}", "line 3, column 3", "name"),
    ("{\"port\": 080}", "line 1, column 13", "value"), ("{\"cors\": \"*\"\n", "line 2, column 1", "ends early"),
    ("// a comment\n{}", "line 1, column 1", "value"), ("{} {}", "line 1, column 4", "follows"),
  ]

  @Test(arguments: syntaxErrors.indices) func syntaxErrorsHaveLineAndColumn(_ index: Int) throws {
    let wrong = Self.syntaxErrors[index]
    let file = try folder.write("serve.json", wrong.text)
    let run = try tileserve(bundle, "--config", file)
    #expect(run.status == 78 && run.stderr.hasPrefix("tileserve: \(file): \(wrong.place): "), "\(run)")
    #expect(run.stderr.contains(wrong.reason), "\(run)")
  }

  @Test func settingsOfUnknownTilesetsAreRefused() throws {
    try folder.writeBundle("roads.mbtiles", zooms: 0...0, seed: 1)
    for id in ["releif", "relief,roads", "relief.mbtiles", ""] {
      let file = try folder.write(
        "serve.json", #"{"tilesets": {"roads": {"missing": "204"}, "\#(id)": {"missing": "204"}}}"#)
      let run = try tileserve(folder.path, "--config", file, "--port", "0", timeout: 10)
      #expect(run.status == 78 && run.stdout.isEmpty, "\(run)")
      #expect(
        run.stderr == "tileserve: \(file): tilesets: \(id): there is no such tileset; there are relief, roads\n",
        "\(run)")
    }
    // A broken bundle may be replaced later, so it is no error.
    try folder.write("broken.mbtiles", "no bundle")
    let file = try folder.write("serve.json", #"{"tilesets": {"broken": {"missing": "204"}}}"#)
    _ = try RunningServer([folder.path, "--config", file])
  }

  @Test func missingConfigurationFileIsNamed() throws {
    let run = try tileserve(bundle, "--config", folder.file("none.json"))
    #expect(run.status == 78 && run.stderr.contains("none.json"), "\(run)")
  }

  @Test(arguments: [
    [], ["--port", "65536", "."], ["--port", "x", "."], ["--missing", "405", "."], ["--cache", "much", "."],
    ["--cors", "nonsense", "."], ["--public-url", "maps", "."], ["--threads", "0", "."],
    ["--nonsense", "."],
  ])
  func wrongFlagsExitWith64(_ arguments: [String]) throws {
    let run = try Command(built: "tileserve").run(arguments, in: folder.path)
    #expect(run.status == 64 && run.stdout.isEmpty, "\(run)")
    let name = arguments.first.map { String($0.dropFirst(2)) } ?? "nothing to serve"
    #expect(run.stderr.contains(name), "\(run)")
  }

  /// What the configuration file and the environment say alone is checked alike.
  @Test(arguments: [
    ("LOG_LEVEL", "loud", "log-level"), ("TLS_CERT", "a.pem", "tlsCert and tlsKey go together"),
    ("CONNECTIONS", "-1", "connections"), ("CACHE_CONTROL", "a\r\nb", "cache-control"),
  ])
  func wrongVariablesExitWith64(_ name: String, _ value: String, _ words: String) throws {
    let run = try tileserve(folder.path, environment: ["TILESERVE_\(name)": value])
    #expect(run.status == 64 && run.stdout.isEmpty && run.stderr.contains(words), "\(run)")
  }

  /// An option that only the configuration file has is answered with its member.
  @Test(arguments: [
    ("tileserve", "--cache-control", "cacheControl"), ("tileserve", "--tls-cert=a.pem", "tlsCert"),
    ("mapstore serve", "--hmac-key-file", "hmacKeyFiles"), ("mapstore serve", "--products", "products"),
    ("purchase-ledger verify", "--package-name", "packageName"),
  ])
  func membersThatAreNoOptionsAreNamed(_ command: String, _ option: String, _ member: String) throws {
    let words = command.split(separator: " ").map(String.init)
    let run = try Command(built: words[0]).run(words.dropFirst() + [option, "x"], in: folder.path)
    #expect(run.status != 0 && run.stderr.contains("write \"\(member)\" into the configuration file"), "\(run)")
  }

  /// Whether the argument is no number or one that is too large.
  @Test(arguments: ["abc", "99999"]) func onePortHasOneMessage(_ port: String) throws {
    let run = try tileserve(bundle, "--port", port)
    #expect(run.status == 64 && run.stderr == "tileserve: port: \"\(port)\" is no number from 0 to 65535\n", "\(run)")
    let store = try Command(built: "mapstore").run(
      ["serve", "--catalogue", folder.path, "--port", port], in: folder.path)
    #expect(
      store.status == 2 && store.stderr == "mapstore: port: \"\(port)\" is no number from 0 to 65535\n", "\(store)")
  }

  /// The servers share the check, each with its own exit code for options that cannot be used.
  @Test func aLevelThatIsNoneIsAnsweredAlike() throws {
    let reason = "log-level: \"loud\" is none of trace, debug, info, notice, warning, error, critical\n"
    let run = try tileserve(bundle, environment: ["TILESERVE_LOG_LEVEL": "loud"])
    #expect(run.status == 64 && run.stderr == "tileserve: \(reason)", "\(run)")
    let store = try Command(built: "mapstore").run(
      ["serve", "--catalogue", folder.path], in: folder.path, environment: ["MAPSTORE_LOG_LEVEL": "loud"])
    #expect(store.status == 2 && store.stderr == "mapstore: \(reason)", "\(store)")
  }

  @Test func aFolderOfLibrariesThatIsNotThereIsNamed() throws {
    let none = folder.file("none")
    let run = try tileserve(bundle, "--port", "0", environment: ["TILESERVE_WEB": none], timeout: 10)
    #expect(run.status == 64 && run.stderr.contains("web: there is no folder \(folder.file("none")); "), "\(run)")
    let store = try Command(built: "mapstore").run(
      ["serve", "--catalogue", folder.path], in: folder.path, environment: ["MAPSTORE_WEB": none])
    #expect(store.status == 2 && store.stderr.contains("web: there is no folder \(folder.file("none")); "), "\(store)")
  }

  @Test func wrongEnvironmentValueExitsWith64() throws {
    let run = try tileserve(bundle, environment: ["TILESERVE_PORT": "eighty"])
    #expect(run.status == 64 && run.stderr.contains("port") && run.stderr.contains("eighty"), "\(run)")
  }

  @Test func unusableAddressExitsWith69() throws {
    let server = try RunningServer([bundle])
    let run = try tileserve(bundle, "--port", "\(server.port)")
    #expect(
      run.status == 69 && run.stderr.contains("127.0.0.1:\(server.port)") && run.stderr.contains("in use"), "\(run)")
    let none = try tileserve(bundle, "--port", "0", "--host", "192.0.2.1")
    #expect(none.status == 69 && none.stderr.contains("192.0.2.1"), "\(none)")
    #expect(none.stderr.contains("choose one that it has"), "\(none)")
    let unknown = try tileserve(bundle, "--port", "0", "--host", "no-such-host.invalid")
    #expect(unknown.status == 69 && unknown.stderr.contains("no-such-host.invalid:0: no address of"), "\(unknown)")
    let socket = try tileserve(bundle, "--unix-socket", folder.file("none/s"))
    #expect(socket.status == 69 && socket.stderr.contains("none/s: there is no such folder"), "\(socket)")
    // A file that is no socket is not replaced.
    let file = try tileserve(bundle, "--unix-socket", bundle)
    #expect(file.status == 69 && folder.names == ["relief.mbtiles"], "\(file)")
  }

  @Test func unusableCertificatesAreNamed() throws {
    let text = try folder.write("text.pem", "no certificate")
    for (certificate, words) in [
      (folder.file("none.pem"), "none.pem: cannot be read: no such file"), (text, "text.pem: is no PEM file"),
      (folder.path, ": cannot be read: is a directory"),
    ] {
      let run = try tileserve(
        bundle, "--port", "0", environment: ["TILESERVE_TLS_CERT": certificate, "TILESERVE_TLS_KEY": text])
      #expect(run.status == 66 && run.stderr.contains(words) && run.stderr.contains("; "), "\(run)")
    }
  }
}
