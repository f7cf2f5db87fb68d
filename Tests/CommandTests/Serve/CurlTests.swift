import Foundation
import TestSupport
import Testing
import TileIndex

/// Conversations of curl with the built command as golden files, which are examples, too. `make bless` rewrites them.
@Suite(.ownThread) struct CurlTests {
  /// The file's name, and curl's arguments.
  static let conversations: [(name: String, arguments: [String])] = [
    ("tile", ["/relief/1/0/1.png"]),
    ("tile-head", ["--head", "/relief/1/0/1.png"]),
    ("tile-not-modified", ["-H", "If-None-Match: \"x\", W/TAG", "/relief/1/0/1.png"]),
    ("tile-modified-since", ["-H", "If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT", "/relief/1/0/1.png"]),
    ("tile-range", ["-H", "Range: bytes=0-9", "/relief/1/0/1.png"]),
    ("tile-missing", ["/relief/1/1/1.png"]),
    ("tile-missing-tms", ["/tms/1.0.0/relief/1/1/0.png"]),
    ("tile-outside", ["/relief/1/2/0.png"]),
    ("tile-malformed", ["/relief/1/one/0.png"]),
    ("tile-of-no-tileset", ["/atlantis/0/0/0.png"]),
    ("vector-gzip", ["-H", "Accept-Encoding: gzip", "/roads/0/0/0.pbf"]),
    ("vector-plain", ["/roads/0/0/0.pbf"]),
    ("vector-missing", ["/roads/1/0/0.pbf"]),
    ("tilejson", ["/relief.json"]),
    ("tilejson-composite", ["/relief,sub--labels.json"]),
    (
      "tilejson-behind-a-proxy",
      [
        "-H", "X-Forwarded-Proto: https", "-H", "X-Forwarded-Host: maps.example.org", "-H",
        "X-Forwarded-Prefix: /tiles",
        "/relief.json",
      ]
    ),
    ("places", ["/sub--labels/places?q=zur"]),
    ("places-near", ["/sub--labels/places?q=lake+z&near=8.7,47.2&limit=1"]),
    ("places-nowhere", ["/sub--labels/places?q=%22%20OR%20("]),
    ("places-malformed", ["/sub--labels/places?q=x&near=north"]),
    ("places-without-any", ["/relief/places?q=x"]),
    ("tilesets", ["/tilesets.json"]),
    ("index", ["/"]),
    ("viewer", ["/relief/"]),
    ("health", ["/health"]),
    ("ready", ["/ready"]),
    ("tms", ["/tms/1.0.0"]),
    ("tms-tileset", ["/tms/1.0.0/relief"]),
    ("wmts-capabilities", ["/relief/WMTSCapabilities.xml"]),
    (
      "wmts-tile",
      [
        "/wmts?service=WMTS&request=GetTile&version=1.0.0&layer=relief&style=default&format=image/png"
          + "&tilematrixset=WebMercatorQuad&tilematrix=1&tilerow=1&tilecol=0"
      ]
    ),
    ("wmts-exception", ["/wmts?service=WMTS&request=GetTile&layer=relief&tilematrix=1&tilerow=9&tilecol=0"]),
    (
      "preflight",
      [
        "-X", "OPTIONS", "-H", "Origin: https://app.example", "-H", "Access-Control-Request-Method: GET",
        "-H", "Access-Control-Request-Private-Network: true", "/relief/0/0/0.png",
      ]
    ),
    ("post", ["-d", "a=b", "/relief/0/0/0.png"]),
    ("http10", ["--http1.0", "/health"]),
    ("upgrade-to-http2", ["--http2", "/health"]),
    ("path-with-dots", ["--path-as-is", "/../../etc/passwd"]),
  ]

  @Test(.enabled(if: Command(installed: "curl") != nil, "curl is not installed"))
  func conversationsWithCurlMatchTheGoldenFiles() throws {
    let folder = try Self.bundleFolder()
    let server = try RunningServer([folder.path])
    let tag = try #require(try server.get("/relief/1/0/1.png")["ETag"])
    let curl = try #require(Command(installed: "curl"))
    for (name, arguments) in Self.conversations {
      let body = folder.file("body")
      let head = folder.file("head")
      let said = arguments.map { $0.replacing("TAG", with: tag) }
      // With --head curl writes the head in place of the body, and without a body it writes no file.
      let url = "http://127.0.0.1:\(server.port)\(said.last!)"
      let run = try curl.run(
        ["-q", "--silent", "--show-error", "--globoff", "--max-time", "30", "--noproxy", "*", "-D", head, "-o", body]
          + said.dropLast() + [url])
      #expect(run.status == 0, "\(run)")
      let text = try Self.conversation(
        said, head: String(contentsOfFile: head, encoding: .utf8),
        body: arguments[0] == "--head" ? [] : Array((try? folder.bytes("body")) ?? Data()),
        server.port)
      for file in [body, head] { try? FileManager.default.removeItem(atPath: file) }
      let golden = ProjectFiles.path("Tests/CommandTests/Goldens/curl/\(name).txt")
      if ProcessInfo.processInfo.environment["BLESS"] == "1" {
        try text.write(toFile: golden, atomically: true, encoding: .utf8)
      }
      let expected = try? String(contentsOfFile: golden, encoding: .utf8)
      #expect(text == expected, "curl/\(name).txt has changed; if that is wanted: make bless")
    }
  }

  @Test func everyGoldenFileIsUsed() throws {
    let names = try FileManager.default.contentsOfDirectory(
      atPath: ProjectFiles.path("Tests/CommandTests/Goldens/curl"))
    #expect(names.sorted() == Self.conversations.map { "\($0.name).txt" }.sorted())
  }

  /// Bundles whose bytes and times are always the same. No encoder makes the tiles: its bytes would depend on its
  /// version.
  private static func bundleFolder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("sub"), withIntermediateDirectories: false)
    func write(
      _ name: String, _ format: TileFormat, _ tiles: [TileID], _ metadata: BundleMetadata, places: [Place] = []
    ) throws {
      let writer = try BundleWriter(path: folder.file(name), matrixSet: .webMercatorQuad, format: format)
      for tile in tiles {
        let mark = Array("\(name) \(tile)".utf8)
        try writer.put(tile, format == .pbf ? SampleTiles.gzip(mark) : blackSquare + mark)
      }
      if !places.isEmpty { try writer.write(places: places) }
      _ = try writer.finish(metadata)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_767_225_600)], ofItemAtPath: folder.file(name))
    }
    let world = BoundingBox(west: -180, south: -85, east: 180, north: 85)
    func tile(_ zoom: Int, _ column: Int, _ row: Int) -> TileID { TileID(unchecked: zoom, column, row) }
    try write(
      "relief.mbtiles", .png, [tile(0, 0, 0), tile(1, 0, 0), tile(1, 1, 0), tile(1, 0, 1)],
      BundleMetadata(name: "Relief", description: "Hills & dales", attribution: "© Us", bounds: world))
    try write(
      "sub/labels.mbtiles", .png, [tile(0, 0, 0)], BundleMetadata(name: "Labels", type: .overlay, bounds: world),
      places: [
        Place(name: "Zürich", kind: "city", longitude: 8.55, latitude: 47.37, importance: 0.75),
        Place(name: "Lake Zurich", kind: "lake", longitude: 8.7, latitude: 47.25, importance: 0.5),
      ])
    try write(
      "roads.mbtiles", .pbf, [tile(0, 0, 0)],
      BundleMetadata(name: "Roads", bounds: world, json: #"{"vector_layers":[{"id":"roads","fields":{}}]}"#))
    return folder
  }

  /// 256 x 256 pixels, grey, one bit: all black.
  private static let blackSquare = [UInt8](
    Data(
      base64Encoded:
        """
        iVBORw0KGgoAAAANSUhEUgAAAQAAAAEAAQAAAAB0CZXLAAAAH0lEQVR42u3BAQ0AAADCoPdPbQ43oAAAAAAAAAAAvg0hAAABYOSdlwAA\
        AABJRU5ErkJggg==
        """)!)

  /// The golden file's text: command, head without what changes from run to run, body.
  private static func conversation(_ arguments: [String], head: String, body: [UInt8], _ port: Int) throws -> String {
    let words = arguments.dropLast().map { $0.contains(" ") || $0.contains("\"") ? "'\($0)'" : $0 }
    var text =
      "$ curl -i \(words.joined(separator: " "))\(words.isEmpty ? "" : " ")'http://127.0.0.1:PORT\(arguments.last!)'\n"
    let isPage = head.contains("Content-Type: text/html")
    for line in head.split(separator: "\r\n") {
      let name = line.prefix { $0 != ":" }
      // Pages change often, and have their own tests.
      let changes = name == "Date" || isPage && ["Content-Length", "ETag"].contains(name)
      text += changes ? "\(name): \(name.uppercased())\n" : "\(line)\n"
    }
    text += "\n"
    if isPage {
      text += "[a page]\n"
    } else if head.contains("Content-Type: text/") || head.contains("Content-Type: application/json")
      || head.contains("Content-Type: application/geo+json")
    {
      text += String(decoding: body, as: UTF8.self).replacing("127.0.0.1:\(port)", with: "127.0.0.1:PORT")
      if !text.hasSuffix("\n") { text += "\n" }
    } else if !body.isEmpty {
      text += "[\(body.count) bytes, CRC-32 \(crc32(body))]\n"
    }
    return normalised(text)
  }

  /// The length and entity tag of documents that name the port change with it.
  private static func normalised(_ text: String) -> String {
    guard text.contains("127.0.0.1:PORT", after: "\n\n") else { return text }
    return text.replacing(/Content-Length: \d+/, with: "Content-Length: CONTENT-LENGTH")
      .replacing(/ETag: "[0-9a-f]+"/, with: "ETag: ETAG")
  }

  private static func crc32(_ bytes: [UInt8]) -> String {
    // A gzip stream ends with the CRC and the length.
    String(SampleTiles.gzip(bytes).suffix(8).prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }, radix: 16)
  }
}

extension String {
  fileprivate func contains(_ part: String, after mark: String) -> Bool {
    guard let start = firstRange(of: mark)?.upperBound else { return false }
    return self[start...].contains(part)
  }
}
