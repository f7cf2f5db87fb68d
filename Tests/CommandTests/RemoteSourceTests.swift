import Foundation
import TestSupport
import Testing

/// `tilecut cut` with URLs, against a server over TLS.
@Suite(
  .ownThread, .enabled(if: Command(installed: "python3") != nil, "python3 is not installed"),
  .enabled(if: Command(installed: "openssl") != nil, "openssl is not installed"))
struct RemoteSourceTests {
  let folder: TemporaryFolder
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    output = folder.file("out.mbtiles")
  }

  /// Serves the folder in ranges; the third argument is the certificate, or `plain`.
  private static let server = """
    import http.server, os, re, ssl, sys
    root, note, certificate = sys.argv[1:4]
    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = 'HTTP/1.1'
      def log_message(self, *words): pass
      def do_GET(self):
        path = os.path.join(root, self.path.lstrip('/'))
        data = open(path, 'rb').read()
        found = re.match(r'bytes=(\\d+)-(\\d+)', self.headers.get('Range', ''))
        part = data[int(found[1]):int(found[2]) + 1] if found else data
        self.send_response(206 if found else 200)
        if found:
            last = int(found[1]) + len(part) - 1
            self.send_header('Content-Range', 'bytes %s-%d/%d' % (found[1], last, len(data)))
        edition = os.path.join(root, 'edition')
        self.send_header('ETag', '"%s"' % (open(edition).read() if os.path.exists(edition) else '1'))
        self.send_header('Content-Length', str(len(part)))
        self.end_headers()
        self.wfile.write(part)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    if certificate != 'plain':
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(certificate, certificate)
      server.socket = context.wrap_socket(server.socket, server_side=True)
    open(note + '.new', 'w').write(str(server.server_address[1]))
    os.rename(note + '.new', note)
    server.serve_forever()
    """

  /// Runs `body` with the port of a server.
  private func withServer(certificate: String = "plain", _ body: (Int) throws -> Void) throws {
    let script = try folder.write("server.py", Self.server)
    let note = folder.file("port")
    let server = try Command(installed: "python3")!.start([script, folder.path, note, certificate])
    try #require(eventually { FileManager.default.fileExists(atPath: note) }, "\(server.stderr)")
    let port = try #require(Int(String(decoding: folder.bytes("port"), as: UTF8.self)))
    try body(port)
    server.send(SIGKILL)
    _ = server.wait(timeout: 10)
  }

  /// The bundle is that of the file, byte for byte; PNG is fetched whole.
  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
  func urlsGiveTheBytesOfFiles() throws {
    try FileManager.default.copyItem(
      at: TestData.url("maps/rasters/cogeo.tif"), to: folder.url.appendingPathComponent("cog.tif"))
    _ = try folder.writePicture("map.png")
    try withServer { port in
      for (name, options) in [
        ("cog.tif", ["--zoom", "5"]), ("map.png", ["--bounds", "10,40,20,50", "--zoom", "0-4"]),
      ] {
        let direct = try Command(built: "tilecut").run(
          ["cut", folder.file(name), "-o", folder.file("direct.mbtiles"), "--force"] + options)
        #expect(direct.status == 0, "\(direct)")
        let fetched = try Command(built: "tilecut").run(
          ["cut", "http://127.0.0.1:\(port)/\(name)", "-o", output, "--force"] + options)
        #expect(fetched.status == 0 && fetched.stdout.contains("fetched"), "\(fetched)")
        #expect(try folder.bytes("out.mbtiles") == folder.bytes("direct.mbtiles"))
      }
      let missing = try tilecut("cut", "http://127.0.0.1:\(port)/none.tif", "-o", output, "--force", timeout: 120)
      expectRefusal(missing, status: 66, naming: "none.tif", "cannot be fetched")
    }
  }

  /// Shards read a server's file as one process reads the file, and refuse another edition of it.
  @Test func shardsReadURLs() throws {
    let raster = try Data(contentsOf: URL(filePath: ShardTests.raster))
    try folder.write("map.tif", bytes: [UInt8](raster))
    let options = ["--zoom", "0-11", "--format", "jpeg", "--name", "map"]
    func run(_ words: [String]) throws -> CommandRun {
      try Command(built: "tilecut").run(words + ["--progress", "none"], in: folder.path)
    }
    #expect(try run(["cut", "map.tif", "-o", "whole.pmtiles"] + options).status == 0)
    let cut = ["cut", "--plan", "plan.json", "--shard"]
    try withServer { port in
      let url = "http://127.0.0.1:\(port)/map.tif"
      let plan = try Command(built: "tilecut").run(
        ["plan", url, "-o", "plan.json", "--shard-tiles", "20"] + options, in: folder.path)
      #expect(plan.status == 0 && plan.stdout.hasPrefix("plan.json: 4 shards "), "\(plan)")
      for shard in 0..<3 { #expect(try run(cut + ["\(shard)"]).status == 0) }
      try folder.write("edition", "2")
      expectRefusal(try run(cut + ["3"]), status: 65, naming: "the source \(url) has changed since")
      try folder.write("edition", "1")
      #expect(try run(cut + ["3"]).status == 0)
      #expect(try run(["merge", "--plan", "plan.json", "-o", "out.pmtiles"]).status == 0)
    }
    #expect(try folder.bytes("out.pmtiles") == folder.bytes("whole.pmtiles"))
    // A server that is gone may come back.
    try FileManager.default.removeItem(atPath: folder.file("plan.shards/0.json"))
    #expect(try run(cut + ["0"]).status == 75)
  }

  /// A certificate that nobody vouches for ends the cut; `SSL_CERT_FILE` vouches.
  @Test func certificatesAreChecked() throws {
    let certificate = folder.file("server.pem")
    let made = try run(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
        "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", certificate, "-out", folder.file("c.pem"),
      ])
    try #require(made?.status == 0, "\(made?.output ?? "")")
    let both = try folder.bytes("server.pem") + folder.bytes("c.pem")
    try folder.write("server.pem", bytes: Array(both))
    _ = try folder.writePicture("map.png")
    try withServer(certificate: certificate) { port in
      let arguments = [
        "cut", "https://127.0.0.1:\(port)/map.png", "-o", output, "--bounds", "10,40,20,50", "--zoom", "0-2",
      ]
      expectRefusal(try Command(built: "tilecut").run(arguments), status: 66, naming: "cannot be trusted")
      let trusted = try Command(built: "tilecut").run(arguments, environment: ["SSL_CERT_FILE": folder.file("c.pem")])
      #expect(trusted.status == 0, "\(trusted)")
    }
  }

  @Test func nobodyThere() throws {
    expectRefusal(
      try tilecut("cut", "http://127.0.0.1:9/map.tif", "-o", output), status: 66, naming: "http://127.0.0.1:9/map.tif")
    #expect(folder.names.isEmpty)
  }
}

/// Images without a place on Earth.
@Suite(.ownThread) struct FlatImageTests {
  /// A sparse BigTIFF of 65,536 x 65,536 pixels: four thousand million pixels, of which some tiles exist.
  private func gigapixels() -> [UInt8] {
    let (edge, tile) = (65536, 512)
    let count = (edge / tile) * (edge / tile)
    var bytes: [UInt8] = Array("II".utf8)
    func put(_ value: Int, _ width: Int) {
      for i in 0..<width { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * i))) }
    }
    for (value, width) in [(43, 2), (8, 2), (0, 2), (0, 8)] { put(value, width) }
    let pixels = bytes.count
    for y in 0..<tile { for x in 0..<tile { bytes.append(UInt8(truncatingIfNeeded: (x ^ y) >> 1)) } }
    let offsets = bytes.count
    for i in 0..<count { put(i % 601 == 0 ? pixels : 0, 8) }
    let lengths = bytes.count
    for i in 0..<count { put(i % 601 == 0 ? tile * tile : 0, 8) }
    let directory = bytes.count
    let tags = [
      (256, 4, 1, edge), (257, 4, 1, edge), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (277, 3, 1, 1),
      (322, 4, 1, tile), (323, 4, 1, tile), (324, 16, count, offsets), (325, 16, count, lengths),
    ]
    put(tags.count, 8)
    for (tag, type, count, value) in tags {
      put(tag, 2)
      put(type, 2)
      put(count, 8)
      put(value, 8)
    }
    put(0, 8)
    for i in 0..<8 { bytes[8 + i] = UInt8(truncatingIfNeeded: directory >> (8 * i)) }
    return bytes
  }

  /// A cropped image begins in the grid's corner like any other.
  @Test func flatImagesAreCropped() throws {
    let folder = try TemporaryFolder()
    let image = try folder.writePicture("plan.png", width: 500, height: 300)
    let output = folder.file("plan.mbtiles")
    let cut = try tilecut("cut", image, "-o", output, "--flat", "--crop", "250,10,20,44")
    #expect(cut.status == 0, "\(cut)")
    #expect(try SQLiteFile.metadata(output)["flat_image"] == "230,246")
    #expect(try SQLiteFile.tiles(output) == ["0/0/0"])
  }

  @Test(.long) func gigapixelsAreCutInBoundedMemory() throws {
    let folder = try TemporaryFolder()
    let image = try folder.write("plan.tif", bytes: gigapixels())
    let output = folder.file("plan.mbtiles")
    let cut = try tilecut("cut", image, "-o", output, "--flat", "--memory", "64MB", timeout: 600)
    #expect(cut.status == 0, "\(cut)")
    // The budget, the libraries, and one candidate tile in some bytes.
    #expect(cut.peakBytes < 160_000_000, "\(cut.peakBytes)")
    let metadata = try SQLiteFile.metadata(output)
    #expect(metadata["flat_image"] == "65536,65536" && metadata["maxzoom"] == "8")
    let tiles = try SQLiteFile.tiles(output)
    // 28 of 16,384 blocks, each four tiles at zoom 8.
    #expect(tiles.filter { $0.hasPrefix("8/") }.count == 28 * 4)
    try expectValid(output)
  }
}
